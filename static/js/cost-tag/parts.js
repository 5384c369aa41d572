// The elements of a rule's card: copies of the templates in templates/allocation/_cost_tag_parts.html.

const ATTRIBUTES_WITH_IDS = ["id", "for", "list", "name", "aria-controls", "aria-labelledby"];
let copies = 0;

/** Returns the element with `data-<name>` within the node. */
export function part(node, name) {
  return node.querySelector(`[data-${name}]`);
}

/** Returns a copy of the template `<name>-template`, with a unique number for NEW in its ids. */
export function copyTemplate(name) {
  const node = document.getElementById(`${name}-template`).content.firstElementChild.cloneNode(true);
  copies += 1;
  for (const element of [node, ...node.querySelectorAll("*")]) {
    for (const attribute of ATTRIBUTES_WITH_IDS) {
      const value = element.getAttribute(attribute);
      if (value !== null) element.setAttribute(attribute, value.replace("NEW", copies));
    }
  }
  return node;
}

/** Returns the values of the chips in the node's first field of values. */
export function chipValues(node) {
  return [...part(node, "filter-values").querySelectorAll(".chip input")].map((input) => input.value);
}
