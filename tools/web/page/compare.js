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

    function change(one) {
        if (one.before === null) return '';
        if (one.before === 0) return 'new';
        const percent = 100 * (one.after - one.before) / one.before;
        return (percent > 0 ? '+' : '') + percent.toFixed(1) + ' %';
    }

    const titles = ['device', 'figure', 'before', 'after', 'spread', 'change'];
    row(titles.map((title, i) => [title, i < 2 ? '' : 'number']), 'th');
    for (const one of data.rows) {
        const shown = (value, sign) => value === null ? '' : sign + words.number(value);
        row([[one.device, ''], [one.figure, ''], [shown(one.before, ''), 'number'],
            [shown(one.after, ''), 'number'], [shown(one.spread, '± '), 'number'],
            [change(one), 'number']], 'td').classList.toggle('differs', one.differs);
    }
    for (const name of ['before', 'after']) {
        const run = data[name];
        document.querySelector('#' + name).textContent = (run.command.join(' ') || 'no command') + ' · ' +
            run.seconds.toFixed(1) + ' s · ' + words.date(run.began);
    }
    const different = data.rows.filter(one => one.differs).map(one => one.device + ' ' + one.figure);
    const apart = data.rows.every(one => one.figure.startsWith('only in ')) ? 'No device is in both reports. ' : '';
    document.querySelector('#verdict').textContent = apart + (different.length
        ? 'Different: ' + different.join('; ') + '.' : 'No figure differs by more than its spread.');
})();
