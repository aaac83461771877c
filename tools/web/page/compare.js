// Two runs side by side: the rows that `blkscope report --compare` has computed.
'use strict';

(() => {
    const data = JSON.parse(document.querySelector('#data').textContent);
    const table = document.querySelector('#figures');

    function row(cells, name) {
        const line = document.createElement('tr');
        for (const [text, className] of cells) {
            const cell = document.createElement(name);
            cell.textContent = text;
            cell.className = className;
            line.append(cell);
        }
        table.append(line);
        return line;
    }

    // The interval in which the true value lies; without an upper end, the requests were too few to tell.
    function shown(value, interval) {
        if (value === null) return '';
        return words.number(value) + ' (' + words.number(interval[0]) + ' to ' +
            (interval[1] === null ? '…' : words.number(interval[1])) + ')';
    }

    const titles = ['device', 'figure', 'before', 'after', 'change', 'noise'];
    row(titles.map((title, i) => [title, i < 2 ? '' : 'number']), 'th');
    for (const one of data.rows) {
        row([[one.device, ''], [one.figure, ''], [shown(one.before, one.before_interval), 'number'],
            [shown(one.after, one.after_interval), 'number'], [one.change, 'number'],
            [one.noise, 'number']], 'td').classList.toggle('differs', one.differs);
    }
    for (const name of ['before', 'after']) {
        const run = data[name];
        document.querySelector('#' + name).textContent = (run.command.join(' ') || 'no command') + ' · ' +
            run.seconds.toFixed(1) + ' s · ' + words.date(run.began) +
            (data[name + '_runs'] > 1 ? ' · the first of ' + data[name + '_runs'] + ' runs' : '');
    }
    for (const line of data.late) {
        const item = document.createElement('li');
        item.textContent = line;
        document.querySelector('#late').append(item);
    }
    const panel = table.parentElement;
    const markCut = () => panel.classList.toggle('cut', panel.scrollWidth > panel.clientWidth + 1);
    window.addEventListener('resize', markCut);
    markCut();
    const headline = document.querySelector('#headline');
    headline.textContent = data.headline;
    headline.hidden = data.headline === null;
    headline.dataset.failed = String(data.failed);
    if (data.failed) document.title = 'FAILED: ' + document.title;
    const different = data.rows.filter(one => one.differs).map(one => one.device + ' ' + one.figure);
    const apart = data.rows.every(one => one.figure.startsWith('only in ')) ? 'No device is in both reports. ' : '';
    document.querySelector('#verdict').textContent = apart + (different.length
        ? 'Different: ' + different.join('; ') + '.' : 'No figure differs by more than noise.');
})();
