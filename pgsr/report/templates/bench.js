document.querySelectorAll("table.sortable").forEach((table) => {
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const at = heads.findIndex((name) => name === "method" || name === "solver");
  if (at >= 0) [...table.rows].forEach((row) => row.cells[at].classList.add("held"));
});
document.querySelectorAll(".tall table").forEach((table, at) => {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 20) return;
  const box = document.createElement("input"), count = document.createElement("span");
  box.type = "search";
  box.className = "sift";
  box.placeholder = "Show rows with these words";
  box.setAttribute("aria-label", "Show only rows that contain all of these words");
  count.className = "sifted";
  count.setAttribute("role", "status");
  const sift = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row) => {
      const text = [...row.cells].map((cell) => cell.textContent.toLowerCase()).join("\n");
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    });
    count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  };
  box.addEventListener("input", sift);
  sift();
  table.parentElement.before(box, count);
});
