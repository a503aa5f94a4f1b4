for (const box of document.querySelectorAll('.table')) {
  const tables = [...box.querySelectorAll('table')];
  const shown = tables[0].tBodies[0].rows.length;
  const heads = tables.map(table => [...table.tHead.rows[table.tHead.rows.length - 1].cells]);
  const value = (row, column) => {
    const cell = row.cells[column], number = cell.dataset.value;
    return number ? Number(number) : cell.textContent;
  };
  const compare = (a, b) => a === '' ? 1 : b === '' ? -1 : a < b ? -1 : a > b ? 1 : 0;
  const sort = column => {
    const down = heads[0][column].getAttribute('aria-sort') === 'ascending';
    const rows = tables.flatMap(table => [...table.tBodies[0].rows]);
    rows.sort((a, b) => (down ? -1 : 1) * compare(value(a, column), value(b, column)));
    rows.forEach((row, i) => tables[i < shown ? 0 : 1].tBodies[0].append(row));
    for (const cells of heads) cells.forEach(cell => cell.removeAttribute('aria-sort'));
    for (const cells of heads) cells[column].setAttribute('aria-sort', down ? 'descending' : 'ascending');
  };
  for (const cells of heads) cells.forEach((cell, column) => {
    cell.tabIndex = 0;
    cell.addEventListener('click', () => sort(column));
    cell.addEventListener('keydown', event => { if (event.key === 'Enter') sort(column); });
  });
}
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details:not([open])')) {
    details.open = true;
    addEventListener('afterprint', () => { details.open = false; }, {once: true});
  }
});
