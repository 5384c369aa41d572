// The rules of a cost tag in the form of their document (finops/allocation/rules/). A condition is a test of one
// dimension, or {all: […]}, {any: […]} or {not: condition}. The editor shows a condition that is not a test as a group
// of one of four kinds: all, any, none, not_all.

/** Returns the kind of group that shows the condition, and its conditions. A single test is a group "all of these". */
export function groupOf(condition) {
  if ("all" in condition) return { kind: "all", conditions: condition.all };
  if ("any" in condition) return { kind: "any", conditions: condition.any };
  if (!("not" in condition)) return { kind: "all", conditions: [condition] };
  const inner = condition.not;
  if ("any" in inner) return { kind: "none", conditions: inner.any };
  return "all" in inner ? { kind: "not_all", conditions: inner.all } : { kind: "none", conditions: [inner] };
}

/** Returns the condition of a group. */
export function conditionOf(kind, conditions) {
  if (kind === "all" && conditions.length === 1) return conditions[0];
  if (kind === "all" || kind === "any") return { [kind]: conditions };
  if (kind === "none" && conditions.length === 1) return { not: conditions[0] };
  return { not: { [kind === "none" ? "any" : "all"]: conditions } };
}

/** Returns the path, within `conditionOf` of their group, of the condition at `index` of `count`. */
export function pathInGroup(kind, count, index) {
  if (kind === "all" && count === 1) return [];
  if (kind === "all" || kind === "any") return [kind, index];
  if (kind === "none" && count === 1) return ["not"];
  return ["not", kind === "none" ? "any" : "all", index];
}

/** Returns the name of a rule, or else the tag that it copies or the value that it sets. */
export function ruleTitle(rule) {
  if (rule.name) return rule.name;
  return rule.copy ? `Copy of ${rule.copy.keys.join(", ") || "a tag"}` : rule.value || "New rule";
}

/** A new rule: one condition to fill in. */
export function emptyRule() {
  return { when: { dimension: "service", op: "in", values: [] }, value: "" };
}

/** Returns a copy of the rule whose name says that it is a copy. */
export function duplicateRule(rule) {
  const copy = structuredClone(rule);
  return copy.name ? { ...copy, name: `${copy.name} (copy)` } : copy;
}

/** Returns `map` of a copied tag from pairs of before and after; empty pairs are left out. Undefined without pairs. */
export function renameMap(pairs) {
  const complete = pairs.filter(([before, after]) => before || after);
  return complete.length ? Object.fromEntries(complete) : undefined;
}

/** Form elements by the path of the part of the document that they edit, to show messages at their field. */
export class PathIndex {
  #elements = new Map();

  clear() {
    this.#elements.clear();
  }

  set(path, element) {
    this.#elements.set(JSON.stringify(path), element);
  }

  /** Returns the element of the longest prefix of the path that has one and that `isShown` accepts, or null. */
  nearest(path, isShown) {
    for (let length = path.length; length > 0; length -= 1) {
      const element = this.#elements.get(JSON.stringify(path.slice(0, length)));
      if (element && isShown(element)) return element;
    }
    return null;
  }
}
