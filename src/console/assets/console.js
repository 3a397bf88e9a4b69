// What forms and links cannot do: dropping files, several files in a table, sorting and exporting it, checks of texts that stay
// here, asking before something is lost, printing, copying. Every page works without this file.
(() => {
  'use strict';
  const tell = (words) => { document.getElementById('told').textContent = words || ''; };
  const gone = () => tell(document.body.dataset.gone);
  const AT_ONCE = 2;

  // The switch "the text stays here" keeps its position, so that nothing leaves because a page was loaded again.
  const stays = document.getElementById('stays');
  if (stays?.dataset.worker) {
    stays.checked = localStorage.getItem('stays') === 'yes';
    stays.addEventListener('change', () => localStorage.setItem('stays', stays.checked ? 'yes' : 'no'));
    stays.disabled = false;
  }

  document.addEventListener('submit', (event) => {
    const sure = event.target.dataset.sure;
    if (sure && !window.confirm(sure)) event.preventDefault();
  });

  document.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    if ('print' in button.dataset) window.print();
    if ('anyway' in button.dataset) anyway();
    if (button.dataset.copy) {
      navigator.clipboard?.writeText(document.getElementById(button.dataset.copy).textContent);
    }
    if (button.dataset.csv) save(document.querySelector('#table table'), button.dataset.csv);
    if ('sort' in button.dataset) sort(button.closest('th'));
  });

  // A box that chooses all of a table.
  for (const all of document.querySelectorAll('[data-all]')) {
    all.closest('[hidden]').hidden = false;
    all.addEventListener('change', () => {
      for (const one of document.querySelectorAll(`[name="${all.dataset.all}"]`)) one.checked = all.checked;
    });
  }

  // The passages of a report. The access keys J and K go to the next and the previous one.
  let passage;
  const open = (one) => {
    passage = one;
    one.open = true;
    (one.querySelector('summary') ?? one).focus({ preventScroll: true });
    one.scrollIntoView({ block: 'start' });
  };
  document.addEventListener('focusin', (event) => {
    passage = event.target.closest('.passage') ?? passage;
  });
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#passage-"]');
    if (!link) return;
    event.preventDefault();
    const all = [...document.querySelectorAll('.report .passage')];
    const at = all.indexOf(passage);
    const step = Number(link.dataset.step);
    const linked = document.getElementById(link.getAttribute('href').slice(1))?.closest('.passage');
    open((step && at >= 0 ? all[at + step] : linked) ?? linked);
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

  for (const form of document.querySelectorAll('form[data-max], form[data-check]')) {
    const input = form.querySelector('[type=file], textarea');
    const files = () => [...(input.files ?? [])];
    // Files to check may be dropped anywhere on the page.
    const area = 'files' in form.dataset ? document : form;
    for (const kind of ['dragenter', 'dragover']) {
      area.addEventListener(kind, (event) => { event.preventDefault(); form.classList.add('over'); });
    }
    for (const kind of ['dragleave', 'drop']) {
      area.addEventListener(kind, () => form.classList.remove('over'));
    }
    area.addEventListener('drop', (event) => {
      event.preventDefault();
      if (event.dataTransfer.files.length && input.files) input.files = event.dataTransfer.files;
    });
    if ('files' in form.dataset) input.multiple = true;
    // Before htmx, which listens on the form itself.
    document.addEventListener('submit', (event) => {
      if (event.target !== form) return;
      tell('');
      const own = tooLarge(form, files()) ? () => {}
        : form.dataset.files === 'each' || 'files' in form.dataset && (files().length > 1 || form.dataset.batch) ? several
        : form.querySelector('[data-rows]') && files().length > 0 ? inParts
        : 'check' in form.dataset && stays?.checked ? alone : undefined;
      if (!own) return;
      event.preventDefault();
      event.stopPropagation();
      own(form, event.submitter, input.files ? files() : [input.value]);
    }, true);
  }

  const addressOf = (form, submitter) => submitter?.getAttribute('formaction') || form.getAttribute('action');

  // What stays here is sent as its gems.
  class Unread extends Error {}
  const queryOf = (text) => new Promise((resolve, reject) => {
    const worker = new Worker(stays.dataset.worker, { type: 'module' });
    const end = (data) => {
      worker.terminate();
      if (data.query) resolve(data.query); else reject(new Unread(data.error));
    };
    worker.onmessage = (event) => end(event.data);
    worker.onerror = (event) => end({ error: event.message });
    worker.postMessage({ as: 'query', recipe: stays.dataset.recipe, [text instanceof Blob ? 'file' : 'text']: text });
  });

  const isFiling = (address) => /record=true/.test(address);
  const gemsOf = ({ gems, indexed }, name, address, batch) => JSON.stringify({
    gems, indexed, recipe: stays.dataset.recipe, allow_incomplete: true, ...(isFiling(address) && { record: true, name, batch }),
  });

  const post = async (address, body) => {
    const kind = typeof body === 'string' ? { 'Content-Type': 'application/json' } : {};
    const token = { 'X-Console-Token': document.querySelector('[name=token]').value };
    const answer = await fetch(address, { method: 'POST', body, headers: { 'HX-Request': 'true', ...token, ...kind } });
    const elsewhere = answer.headers.get('hx-redirect');
    if (elsewhere) location.assign(elsewhere);
    return elsewhere ? undefined : answer;
  };

  // Checks a text or a file that stays here, and shows its passages.
  let anyway;
  const alone = async (form, submitter, [text]) => {
    const [address, progress] = [addressOf(form, submitter), form.querySelector('progress')];
    const busy = (is) => {
      for (const button of form.querySelectorAll('button')) button.disabled = is;
      progress.removeAttribute('value');
      progress.hidden = !is;
    };
    let part;
    busy(true);
    try {
      const query = await queryOf(text);
      const answer = await post(address, gemsOf(query, text.name, address));
      if (!answer) return;
      part = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('result');
      await addPassages(part, text, query.places);
      const place = answer.headers.get('hx-push-url');
      if (place) {
        history.replaceState({ htmx: true }, '');
        history.pushState({ htmx: true }, '', place);
      }
    } catch (error) {
      if (!(error instanceof Unread)) return gone();
      part = document.getElementById('unread').content.firstElementChild.cloneNode(true);
      part.querySelector('.detail').textContent = error.message;
      anyway = () => {
        stays.checked = false;
        form.requestSubmit(submitter);
        stays.checked = true;
      };
    } finally {
      busy(false);
    }
    document.getElementById('result').replaceWith(part);
    htmx.process(part);
    part.scrollIntoView();
  };

  const LONGEST = 20_000;
  const addPassages = async (part, text, places) => {
    const bytes = new Blob([text]);
    const start = new Uint8Array(await bytes.slice(0, 3).arrayBuffer()).join() === '239,187,191' ? 3 : 0;
    for (const cell of part.querySelectorAll('[data-gems]')) {
      const [first, end] = cell.dataset.gems.split('-').map(Number);
      const [from, to] = [places[first]?.start, places[end - 1]?.end];
      const passage = await bytes.slice(start + from, start + Math.min(to, from + LONGEST)).text();
      cell.textContent = passage.replace(/\ufffd$/, '').replace(/[^\P{Cf}\u00ad]/gu, '·') + (to > from + LONGEST ? ' …' : '');
      cell.closest('.passage').querySelector('.start').textContent = cell.textContent.slice(0, 300);
    }
  };

  // Makes a batch of files, which can be left and found again. Its address becomes that of the page.
  const begin = async (files) => {
    const answer = await post('/console/batches', JSON.stringify({ files: files.map((file) => file.name) }));
    const place = answer?.headers.get('hx-push-url');
    if (place) {
      history.replaceState({ htmx: true }, '');
      history.pushState({ htmx: true }, '', place);
    } else if (answer) {
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      document.getElementById('result').replaceWith(page.getElementById('result'));
    }
    return place?.split('/').pop();
  };

  const rowOf = (body, name) => [...body.rows].find((row) => row.dataset.name === name);

  // The rows that a file becomes. One that was refused may have a button to send it again.
  const rowsOf = async (address, sent) => {
    const answer = await post(address, sent);
    if (!answer) return undefined;
    const body = document.createElement('tbody');
    body.innerHTML = await answer.text();
    for (const button of body.querySelectorAll('[data-again]')) {
      button.addEventListener('click', async () => {
        button.disabled = true;
        try {
          const rows = await rowsOf(button.dataset.again, sent);
          if (rows) button.closest('tr').replaceWith(...rows);
        } catch {
          button.disabled = false;
          gone();
        }
      });
    }
    return [...body.rows];
  };

  // Sends a table with more files than one request may have: each answer has the rows that still lack theirs. When no row does,
  // the last ones are sent again, and only the files that no row is for are shown.
  const FILES_AT_ONCE = 99;
  const inParts = async (form, submitter, files) => {
    const [all, progress, most] = [files.length, form.querySelector('progress'), Number(form.dataset.max)];
    let [rows, shown, page] = [form.querySelector('[data-rows]').value, 'tbody tr', undefined];
    const done = [];
    submitter.disabled = true;
    progress.hidden = false;
    try {
      while (files.length) {
        const data = new FormData();
        data.append('file', rows);
        for (let [count, bytes] = [0, rows.length * 3]; files.length && count < FILES_AT_ONCE; count += 1) {
          bytes += files[0].size;
          if (count && bytes > most) break;
          data.append('file', files.shift());
        }
        const answer = await post(addressOf(form, submitter), data);
        if (!answer) return;
        const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
        if (!answer.ok && page) {
          tell(next.querySelector('.problem')?.textContent);
          break;
        }
        page = next;
        done.push(...page.querySelectorAll(files.length ? `${shown}:not([data-open])` : shown));
        progress.value = 1 - files.length / all;
        if (!answer.ok) break;
        const open = page.querySelector('[data-rows]');
        if (open) rows = open.value;
        else shown = 'tbody tr.failed';
      }
    } catch {
      return gone();
    } finally {
      submitter.disabled = false;
      progress.hidden = true;
    }
    page.querySelector('tbody')?.replaceChildren(...done);
    document.getElementById('main').replaceWith(page.getElementById('main'));
    window.scrollTo(0, 0);
  };

  // Sends several files, a few at a time, each a row of the table.
  const several = async (form, submitter, chosen) => {
    const section = document.getElementById('table');
    const [head, body] = [section.querySelector('thead tr'), section.querySelector('tbody')];
    const action = addressOf(form, submitter);
    let { batch } = form.dataset;
    // Of a batch, only what is left is sent.
    const files = batch ? chosen.filter((file) => 'left' in (rowOf(body, file.name)?.dataset ?? {})) : chosen;
    if (!batch) {
      if (isFiling(action)) {
        try {
          batch = await begin(files);
        } catch {
          return gone();
        }
        if (!batch) return;
      }
      head.replaceChildren(document.getElementById('heads').content.cloneNode(true));
      body.replaceChildren();
    }
    document.getElementById('result')?.replaceChildren();
    section.hidden = false;
    const progress = form.querySelector('progress');
    progress.value = 0;
    progress.hidden = false;
    let done = 0;
    const next = async () => {
      for (let file = files.shift(); file; file = files.shift()) {
        const data = new FormData();
        data.append('file', file);
        try {
          const sent = stays?.checked ? gemsOf(await queryOf(file), file.name, action, batch) : data;
          const named = new URLSearchParams({ row: file.name, ...(batch && { batch }) });
          const rows = await rowsOf(`${action}${action.includes('?') ? '&' : '?'}${named}`, sent);
          if (!rows) return;
          rowOf(body, file.name)?.remove();
          body.append(...rows);
        } catch (error) {
          if (error instanceof Unread) {
            unread(body, file.name);
          } else {
            gone();
            files.length = 0;
          }
        }
        done += 1;
        progress.value = done / (done + files.length);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    progress.hidden = true;
    section.querySelector('.scroll').focus();
  };

  const unread = (body, name) => {
    rowOf(body, name)?.remove();
    const row = body.insertRow();
    row.className = 'failed';
    row.dataset.name = name;
    row.dataset.left = '';
    row.insertCell().textContent = name;
    const cell = row.insertCell();
    cell.colSpan = 3;
    cell.textContent = document.getElementById('unread').content.querySelector('h2').textContent;
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
