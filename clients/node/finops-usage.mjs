// SPDX-License-Identifier: Apache-2.0
/**
 * Push usage events. Copy this file into your backend. It needs Node 18 or later and no packages.
 *
 *   const client = new UsageClient("https://console.example", process.env.USAGE_API_KEY);
 *   await client.push([{ customer_id: "cust-42", metric: "api_requests", quantity: 1250,
 *                        timestamp: "2026-11-20T12:00:00Z" }]);
 *
 * Events are sent in batches of 1,000. A batch without an answer is sent again with the same Idempotency-Key, so that
 * it counts once. If events are rejected, RejectedEvents is thrown after all other events are stored.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";

const MAX_EVENTS = 1000;
const MAX_BYTES = 8 * 1024 * 1024; // the server accepts 16 MiB

/** Some events were rejected, and all others are stored. Correct those in `result.rejected` and push them again. */
export class RejectedEvents extends Error {
    constructor(result) {
        const [first] = result.rejected;
        const counts = `${result.rejected.length} events rejected, ${result.accepted} accepted`;
        super(`${counts}; event ${first.index}: ${first.error}`);
        this.name = "RejectedEvents";
        this.result = result;
    }
}

/**
 * A batch was refused, or had no answer after all attempts. `result` has the counts of earlier batches, `unsent` the
 * events from this batch on. Push them with the same `idempotencyKey`, so that they count once.
 */
export class PushFailed extends Error {
    constructor(message, status = null, code = "") {
        super(message);
        this.name = "PushFailed";
        Object.assign(this, { status, code, result: null, unsent: [], idempotencyKey: "" });
    }
}

export class UsageClient {
    /** `url`: the console. `timeout`: milliseconds per request. `attempts`: maximum requests per batch. */
    constructor(url, key, { timeout = 30_000, attempts = 8, sleep = wait } = {}) {
        this.endpoint = `${url.replace(/\/+$/, "")}/api/usage/events`;
        Object.assign(this, { key, timeout, attempts, sleep });
    }

    /**
     * Push any number of events and return { accepted, duplicates, rejected: [{ index, error, event }] }. Throws
     * RejectedEvents and PushFailed. With an `idempotencyKey`, events that you push again after a restart count once.
     */
    async push(events, { idempotencyKey = randomUUID(), throwRejected = true } = {}) {
        const result = { accepted: 0, duplicates: 0, rejected: [] };
        for (const { start, size, body } of batches(events)) {
            // The first batch has the plain key, so that `unsent` events, pushed with a batch's key, have the same key.
            const batchKey = start ? `${idempotencyKey}-${start}` : idempotencyKey;
            let answer;
            try {
                answer = await this.send(body, batchKey);
            } catch (failure) {
                throw Object.assign(failure, { result, unsent: events.slice(start), idempotencyKey: batchKey });
            }
            result.accepted += answer.accepted;
            result.duplicates += answer.duplicates;
            for (const { index, error } of answer.errors) {
                result.rejected.push({ index: start + index, error, event: events[start + index] });
            }
            if (answer.accepted + answer.rejected !== size) {
                throw new PushFailed(`The answer counts other than ${size} events: ${JSON.stringify(answer)}`, 200);
            }
        }
        if (result.rejected.length && throwRejected) throw new RejectedEvents(result);
        return result;
    }

    async send(body, idempotencyKey) {
        let failure = new PushFailed("Nothing was sent: attempts must be 1 or more.");
        for (let attempt = 0; attempt < this.attempts; attempt += 1) {
            let seconds = 0;
            try {
                const answer = await this.request(body, idempotencyKey);
                if (answer.status === 200) {
                    const duplicates = Number(answer.headers.get("Usage-Duplicates") ?? 0);
                    return { ...(await answer.json()), duplicates };
                }
                seconds = retryAfter(answer);
                failure = await failureOf(answer);
            } catch (error) {
                // A network error, a timeout, or an incomplete answer.
                failure = new PushFailed(`${error.name}: ${error.cause?.message ?? error.message}`);
            }
            if (failure.status !== null && failure.status !== 429 && failure.status < 500) throw failure;
            if (attempt + 1 < this.attempts) {
                const jitter = Math.random() * Math.min(60, 0.5 * 2 ** attempt);
                await this.sleep((seconds + jitter) * 1000);
            }
        }
        throw failure;
    }

    request(body, idempotencyKey) {
        return fetch(this.endpoint, {
            method: "POST",
            // On a redirect fetch would send the key to another server, or change the method to GET.
            redirect: "manual",
            signal: AbortSignal.timeout(this.timeout),
            headers: {
                Authorization: `Bearer ${this.key}`,
                "Content-Type": "application/json",
                "Idempotency-Key": idempotencyKey,
            },
            body,
        });
    }
}

/** Yield the index of the first event, the number of events and the body of each batch. */
function* batches(events) {
    let start = 0;
    let texts = [];
    let length = 0;
    const batch = () => ({ start, size: texts.length, body: `{"events":[${texts.join(",")}]}` });
    for (const event of events) {
        const text = JSON.stringify(event);
        const bytes = Buffer.byteLength(text);
        if (texts.length && (texts.length === MAX_EVENTS || length + bytes > MAX_BYTES)) {
            yield batch();
            [start, texts, length] = [start + texts.length, [], 0];
        }
        texts.push(text);
        length += bytes;
    }
    if (texts.length) yield batch();
}

async function failureOf(answer) {
    const text = await answer.text();
    try {
        const { code, message } = JSON.parse(text).error;
        return new PushFailed(`${answer.status} ${code}: ${message}`, answer.status, code);
    } catch {
        return new PushFailed(`${answer.status} ${answer.statusText}`, answer.status);
    }
}

/** Return the seconds of the Retry-After header, at most five minutes. */
function retryAfter(answer) {
    const text = answer.headers.get("Retry-After") ?? "";
    return /^\d+$/.test(text) ? Math.min(300, Number(text)) : 0;
}
