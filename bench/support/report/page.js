"use strict";
// A click on the head of a column sorts by it, a second one the other way round.
function keyOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.order === undefined ? cell.textContent : Number(cell.dataset.order);
}
function compareKeys(a, b) {
  if (typeof a === "number") { return typeof b === "number" ? a - b : -1; }
  return typeof b === "number" ? 1 : a.localeCompare(b);
}
function sortBy(head) {
  const table = head.closest("table");
  const descending = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) { other.removeAttribute("aria-sort"); }
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const rows = Array.from(table.tBodies[0].rows);
  rows.sort((a, b) => compareKeys(keyOf(a, head.cellIndex), keyOf(b, head.cellIndex)) * (descending ? -1 : 1));
  table.tBodies[0].append(...rows);
}
document.querySelectorAll("thead th").forEach((head) => {
  head.querySelector("button").addEventListener("click", () => sortBy(head));
});
