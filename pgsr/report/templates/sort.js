document.querySelectorAll("table.sortable").forEach((table) => {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const key = (row, at) => row.cells[at].dataset.sort ?? row.cells[at].textContent;
  const sort = (at) => {
    const up = heads[at].getAttribute("aria-sort") !== "ascending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[at].setAttribute("aria-sort", up ? "ascending" : "descending");
    const order = (a, b) => {
      const x = key(a, at), y = key(b, at), numbers = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
      if ((x === "") !== (y === "")) return x === "" ? 1 : -1;
      const way = numbers ? x - y : x.localeCompare(y);
      return up ? way : -way;
    };
    body.append(...[...body.rows].sort(order));
  };
  heads.forEach((head, at) => {
    head.tabIndex = 0;
    head.addEventListener("click", () => sort(at));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(at); });
  });
});
