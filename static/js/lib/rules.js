// The rules of a cost tag, as their document has them (finops/allocation/rules/). A condition is a test of one
// dimension, or {all: […]}, {any: […]} or {not: condition}. The editor shows a condition that is no test as a group of
// one of four kinds: all, any, none, not_all.

/** The kind of group that shows the condition, and the conditions in it. A single test is a group "all of these". */
export function groupOf(condition) {
  if ("all" in condition) return { kind: "all", conditions: condition.all };
  if ("any" in condition) return { kind: "any", conditions: condition.any };
  if (!("not" in condition)) return { kind: "all", conditions: [condition] };
  const inner = condition.not;
  if ("any" in inner) return { kind: "none", conditions: inner.any };
  return "all" in inner ? { kind: "not_all", conditions: inner.all } : { kind: "none", conditions: [inner] };
}

/** The condition that a group stands for. */
export function conditionOf(kind, conditions) {
  if (kind === "all" && conditions.length === 1) return conditions[0];
  if (kind === "all" || kind === "any") return { [kind]: conditions };
  if (kind === "none" && conditions.length === 1) return { not: conditions[0] };
  return { not: { [kind === "none" ? "any" : "all"]: conditions } };
}

/** Where the condition at `index` of `count` stands within `conditionOf` of their group: a path of keys and indexes. */
export function pathInGroup(kind, count, index) {
  if (kind === "all" && count === 1) return [];
  if (kind === "all" || kind === "any") return [kind, index];
  if (kind === "none" && count === 1) return ["not"];
  return ["not", kind === "none" ? "any" : "all", index];
}

/** How a rule is called: its name, else what it copies or the value that it sets. */
export function ruleTitle(rule) {
  if (rule.name) return rule.name;
  return rule.copy ? `Copy of ${rule.copy.keys.join(", ") || "a tag"}` : rule.value || "New rule";
}

/** A new rule: one condition to fill in. */
export function emptyRule() {
  return { when: { dimension: "service", op: "in", values: [] }, value: "" };
}

/** The rule again; a name says that it is a copy. */
export function duplicateRule(rule) {
  const copy = structuredClone(rule);
  return copy.name ? { ...copy, name: `${copy.name} (copy)` } : copy;
}

/** `map` of a copied tag from pairs of before and after; rows without either are left out. Undefined without any. */
export function renameMap(pairs) {
  const complete = pairs.filter(([before, after]) => before || after);
  return complete.length ? Object.fromEntries(complete) : undefined;
}

/** Form elements by the path of what they edit in the document, for messages about a place in it. */
export class PathIndex {
  #elements = new Map();

  clear() {
    this.#elements.clear();
  }

  set(path, element) {
    this.#elements.set(JSON.stringify(path), element);
  }

  /** The element of the longest start of the path that has one and that `isShown` accepts; null without any. */
  nearest(path, isShown) {
    for (let length = path.length; length > 0; length -= 1) {
      const element = this.#elements.get(JSON.stringify(path.slice(0, length)));
      if (element && isShown(element)) return element;
    }
    return null;
  }
}
