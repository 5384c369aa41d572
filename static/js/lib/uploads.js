// The request of an upload of files, and the meaning of its response.
import { formatMegabytes } from "./numbers.js";

/** Returns a message if the files together are larger than the server accepts; empty if they are not. */
export function sizeError(files, maxBytes) {
  const bytes = [...files].reduce((sum, file) => sum + file.size, 0);
  if (bytes <= maxBytes) return "";
  return `The files have ${formatMegabytes(bytes)}; this server takes ${formatMegabytes(maxBytes)} at once.`;
}

/** Returns the bar's percentage and the text beside it for the progress of an XMLHttpRequest. */
export function uploadProgress({ loaded, total }) {
  const percent = Math.floor((loaded / total) * 100);
  return { percent, text: `${percent} % of ${formatMegabytes(total)}` };
}

/**
 * Returns one of: `url` of the page that opens, `fieldErrors` (messages by field name), or a `message` for the whole
 * form. The body of an error page is not JSON, so its status is used.
 */
export function uploadResult(status, body) {
  let response;
  try {
    response = JSON.parse(body);
  } catch {
    response = {};
  }
  if (status === 202) return { url: response.url };
  if (response.errors) return { fieldErrors: response.errors };
  if (status === 403) {
    return { message: "You cannot upload here, or the form has expired. Reload the page and try again." };
  }
  if (status === 413) return { message: "The files exceed the upload limit." };
  return { message: `Upload failed (status ${status}). Nothing was imported. Try again.` };
}
