// What forms and links cannot do: dropping files, several files in a table, sorting and exporting it, asking before something
// is lost, printing, copying. Every page works without this file.
(() => {
  'use strict';
  const tell = (words) => { document.getElementById('told').textContent = words || ''; };
  const gone = () => tell(document.body.dataset.gone);
  const AT_ONCE = 2;

  document.addEventListener('submit', (event) => {
    const sure = event.target.dataset.sure;
    if (sure && !window.confirm(sure)) event.preventDefault();
  });

  document.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    if ('print' in button.dataset) window.print();
    if (button.dataset.copy) {
      navigator.clipboard?.writeText(document.getElementById(button.dataset.copy).textContent);
    }
    if (button.dataset.csv) save(button.closest('section').querySelector('table'), button.dataset.csv);
    if ('sort' in button.dataset) sort(button.closest('th'));
  });

  // Answers that are not there, and sessions that are over.
  document.addEventListener('htmx:sendError', gone);
  document.addEventListener('htmx:timeout', gone);
  document.addEventListener('htmx:beforeRequest', () => tell(''));
  document.addEventListener('htmx:xhr:progress', (event) => {
    const progress = event.target.closest?.('form')?.querySelector('progress');
    if (progress && event.detail.total) {
      progress.hidden = false;
      progress.value = event.detail.loaded / event.detail.total;
    }
  });
  document.addEventListener('htmx:afterRequest', (event) => {
    const progress = event.target.closest?.('form')?.querySelector('progress');
    if (progress) progress.hidden = true;
  });

  const tooLarge = (form, files) => {
    const found = [...files].some((file) => file.size > Number(form.dataset.max));
    if (found) tell(form.dataset.tooLarge);
    return found;
  };

  for (const form of document.querySelectorAll('form[data-max]')) {
    const input = form.querySelector('input[type=file]');
    for (const kind of ['dragenter', 'dragover']) {
      form.addEventListener(kind, (event) => { event.preventDefault(); form.classList.add('over'); });
    }
    for (const kind of ['dragleave', 'drop']) {
      form.addEventListener(kind, () => form.classList.remove('over'));
    }
    form.addEventListener('drop', (event) => {
      event.preventDefault();
      if (event.dataTransfer.files.length) input.files = event.dataTransfer.files;
    });
    if ('files' in form.dataset) input.multiple = true;
    // Before htmx, which listens on the form itself.
    document.addEventListener('submit', (event) => {
      if (event.target !== form) return;
      tell('');
      if (tooLarge(form, input.files)) {
        event.preventDefault();
        event.stopPropagation();
      } else if ('files' in form.dataset && input.files.length > 1) {
        event.preventDefault();
        event.stopPropagation();
        several(form, event.submitter, [...input.files]);
      }
    }, true);
  }

  // Checks several files, a few at a time, each a row of the table.
  const several = async (form, submitter, files) => {
    const section = document.getElementById('table');
    const [head, body] = [section.querySelector('thead tr'), section.querySelector('tbody')];
    head.replaceChildren(document.getElementById('heads').content.cloneNode(true));
    body.replaceChildren();
    document.getElementById('result').replaceChildren();
    section.hidden = false;
    const progress = form.querySelector('progress');
    progress.value = 0;
    progress.hidden = false;
    const action = submitter?.getAttribute('formaction') || form.getAttribute('action');
    let done = 0;
    const next = async () => {
      for (let file = files.shift(); file; file = files.shift()) {
        const data = new FormData();
        data.append('file', file);
        try {
          const answer = await fetch(`${action}&row=${encodeURIComponent(file.name)}`, { method: 'POST', body: data, headers: { 'HX-Request': 'true' } });
          const elsewhere = answer.headers.get('hx-redirect');
          if (elsewhere) { location.assign(elsewhere); return; }
          const row = document.createElement('tbody');
          row.innerHTML = await answer.text();
          body.append(...row.querySelectorAll('tr'));
        } catch {
          gone();
          files.length = 0;
        }
        done += 1;
        progress.value = done / (done + files.length);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    progress.hidden = true;
    section.querySelector('.scroll').focus();
  };

  const value = (row, at) => row.cells[at]?.dataset.value ?? row.cells[at]?.textContent ?? '';

  const sort = (head) => {
    const body = head.closest('table').tBodies[0];
    const up = head.getAttribute('aria-sort') !== 'ascending';
    for (const other of head.parentElement.cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const order = (a, b) => {
      const [one, two] = [value(a, head.cellIndex), value(b, head.cellIndex)];
      const numbers = one !== '' && two !== '' && !Number.isNaN(Number(one)) && !Number.isNaN(Number(two));
      return (numbers ? Number(one) - Number(two) : one.localeCompare(two)) * (up ? 1 : -1);
    };
    body.append(...[...body.rows].sort(order));
  };

  // A cell that a spreadsheet would take for a formula is quoted as a text.
  const cell = (text) => {
    const plain = text.trim().replace(/^[=+\-@\t\r]/, "'$&");
    return `"${plain.replaceAll('"', '""')}"`;
  };

  const save = (table, name) => {
    const lines = [...table.rows].map((row) => [...row.cells].map((one) => cell(one.textContent)).join(','));
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob(['\ufeff', lines.join('\r\n')], { type: 'text/csv' }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };
})();
