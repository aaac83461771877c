// The panels of one device: tiles, heatmaps, charts and tables.
//
// draw() fills the elements of a root that has the markup of index.html. Texts go in as text, so no
// name of a device or a client is ever markup.
'use strict';

const panels = (() => {
    const perSecond = value => words.number(value);
    const bytesPerSecond = value => value === 0 ? '0' : words.bytes(value) + '/s';
    const percent = value => value.toFixed(0) + ' %';

    const chartOf = {
        iops: {lines: [{key: 'reads', colour: 'read'}, {key: 'writes', colour: 'write'}], show: perSecond},
        bytes: {lines: [{key: 'readBytes', colour: 'read'}, {key: 'writtenBytes', colour: 'write'}],
            show: bytesPerSecond, least: 1024, isBytes: true},
        times: {lines: [{key: 'asvc', colour: 'service'}, {key: 'wsvc', colour: 'wait'}], stacked: true,
            show: words.time, least: 0.001},
        queues: {lines: [{key: 'actv', colour: 'service'}, {key: 'wait', colour: 'wait'}], stacked: true,
            show: perSecond},
        busy: {lines: [{key: 'busy', colour: 'service'}, {key: 'waiting', colour: 'wait'}], show: percent,
            least: 100},
        errors: {lines: [{key: 'errors', colour: 'bad'}], show: perSecond},
    };

    // Key, label and text of each tile, from a sample.
    const tiles = [
        ['reads', 'reads /s', sample => words.number(sample.reads)],
        ['writes', 'writes /s', sample => words.number(sample.writes)],
        ['bytes', 'throughput', sample => words.bytes(sample.readBytes + sample.writtenBytes) + '/s'],
        ['wsvc', 'mean wait', sample => words.time(sample.wsvc)],
        ['asvc', 'mean service', sample => words.time(sample.asvc)],
        ['p99', '99 % within', sample => words.nanoseconds(sample.p99)],
        ['wait', 'waiting', sample => words.number(sample.wait)],
        ['actv', 'in service', sample => words.number(sample.actv)],
    ];

    function element(name, text, className) {
        const made = document.createElement(name);
        if (text !== undefined) made.textContent = text;
        if (className) made.className = className;
        return made;
    }

    function setText(place, text) {
        if (place.textContent !== text) place.textContent = text;
    }

    // Fills a table. Each row is its cells; a cell is a text, or {text, key, value} for a number.
    function fillTable(table, head, rows, none) {
        const made = [element('tr')];
        for (const title of head) made[0].append(element('th', title));
        for (const row of rows) {
            const line = element('tr');
            for (const cell of row) {
                const isNumber = typeof cell === 'object';
                const made = element('td', isNumber ? cell.text : cell, isNumber ? 'number' : '');
                if (isNumber && cell.key) {
                    made.dataset.key = cell.key;
                    made.dataset.value = cell.value;
                }
                line.append(made);
            }
            made.push(line);
        }
        if (rows.length === 0) {
            const cell = element('td', none, 'faint');
            cell.colSpan = head.length;
            const line = element('tr');
            line.append(cell);
            made.push(line);
        }
        table.replaceChildren(...made);
    }

    const cell = (key, value, text) => ({key, value: String(value), text});

    // What `iostat -j` prints: exact counters, and the means since the creation.
    function totalRows(one) {
        const count = one.counters;
        const percentiles = one.percentiles ? one.percentiles.total : {};
        const row = (title, key, value, text) => [title, cell(key, value, text)];
        return [
            row('reads', 'total-reads', count.reads, count.reads.toLocaleString()),
            row('writes', 'total-writes', count.writes, count.writes.toLocaleString()),
            row('bytes read', 'total-read-bytes', count.read_bytes, words.bytes(count.read_bytes)),
            row('bytes written', 'total-written-bytes', count.written_bytes, words.bytes(count.written_bytes)),
            row('mean wait', 'total-wsvc', one.wsvc_t_ms, words.time(one.wsvc_t_ms)),
            row('mean service', 'total-asvc', one.asvc_t_ms, words.time(one.asvc_t_ms)),
            ...[['half within', 'p50_ns'], ['90 % within', 'p90_ns'], ['99 % within', 'p99_ns'],
                ['99.9 % within', 'p99_9_ns'], ['all within', 'max_ns']]
                .map(([title, key]) => row(title, 'total-' + key, percentiles[key], words.nanoseconds(percentiles[key]))),
            row('errors', 'total-errors', one.errors ? one.errors.total : 0,
                words.number(one.errors ? one.errors.total : 0)),
        ];
    }

    function clientRows(clients, disk, details) {
        const identities = new Map((details && details.clients || []).map(one => [one.client, one]));
        const rate = one => one.samples.length ? one.samples[one.samples.length - 1] : null;
        const counts = client => client.last ? client.last.counters : {reads: 1, writes: 0};
        const all = clients.filter(client => counts(client).reads + counts(client).writes > 0)
            .map(client => ({client, now: rate(client)}));
        const sum = all.reduce((total, {now}) => total + (now ? now.reads + now.writes : 0), 0);
        all.sort((a, b) => (b.now ? b.now.reads + b.now.writes : 0) - (a.now ? a.now.reads + a.now.writes : 0));
        return all.slice(0, 50).map(({client, now}) => {
            const name = client.name.slice(disk.length + 1);
            const who = identities.get(name);
            const requests = now ? now.reads + now.writes : 0;
            return [name, who ? [who.program, who.peer].filter(Boolean).join(' · ') : '',
                cell('client-requests', requests, words.number(requests)),
                cell('', 0, now ? words.bytes(now.readBytes + now.writtenBytes) + '/s' : '–'),
                cell('', 0, now ? words.time(now.wsvc) : '–'), cell('', 0, now ? words.time(now.asvc) : '–'),
                cell('', 0, sum > 0 ? percent(100 * requests / sum) : '–')];
        });
    }

    // A long text may be broken behind its commas.
    const breakable = text => text.replace(/([,;])/g, '$1\u200b');

    function settingRows(details) {
        if (!details) return [];
        const rows = [];
        const upstream = details.upstream;
        if (upstream) {
            const counts = Object.entries(upstream.counts).map(([name, count]) => name + ' ' + words.number(count));
            if (upstream.round_trip_ns !== null) counts.push('round trip ' + words.nanoseconds(upstream.round_trip_ns));
            rows.push(['upstream', upstream.state, cell('upstream-state', upstream.state, counts.join(', '))]);
        }
        if (details.model) {
            rows.push(['model', breakable(details.model.spec), cell('model-overruns', details.model.overruns,
                words.number(details.model.overruns) + ' overruns')]);
        }
        for (const limit of details.limits) {
            rows.push(['limit ' + limit.name, breakable(limit.spec), cell('limit-exceeded', limit.exceeded_ns,
                'held back for ' + words.nanoseconds(limit.exceeded_ns))]);
        }
        for (const fault of details.faults) {
            rows.push(['fault ' + fault.id, breakable(fault.rule), cell('fault-hits', fault.hits, words.number(fault.hits) + ' hits')]);
        }
        return rows;
    }

    const errorRows = details => (details ? details.errors : []).map(one =>
        [one.op, one.errno, cell('error-count', one.count, words.number(one.count))]);

    function drawTiles(root, sample) {
        const list = root.querySelector('.tiles');
        if (list.children.length === 0) {
            for (const [key, label] of tiles) {
                const tile = element('div', undefined, 'tile ' + key);
                const value = element('div', '–', 'value');
                value.dataset.key = key;
                tile.append(value, element('div', label, 'label'));
                list.append(tile);
            }
        }
        for (const [key, , text] of tiles) {
            const value = list.querySelector('[data-key="' + key + '"]');
            setText(value, sample ? text(sample) : '–');
            value.dataset.value = sample && sample[key] !== null ? String(sample[key]) : '';
        }
    }

    // A table that is wider than its panel says so, because many screens hide the bar below it.
    function markCut(root) {
        for (const panel of root.querySelectorAll('.panel.scroll')) {
            panel.classList.toggle('cut', panel.scrollWidth > panel.clientWidth + 1);
        }
    }

    // `look` is {device, samples, range, pointer, details, totals, clients}. Without a moment, the
    // numbers are those of `whole`, or of the newest sample.
    function draw(root, look) {
        const {device, samples, range, pointer, details} = look;
        const newest = look.whole || samples[samples.length - 1] || null;
        const shown = pointer !== null && samples[pointer] || newest;
        setText(root.querySelector('.source'), words.source(details));
        setText(root.querySelector('.sentence'), words.sentence(device, shown, details, Boolean(look.whole)));
        root.classList.toggle('gone', !device.here);
        drawTiles(root, shown);
        const most = charts.mostOf(samples);
        const isOver = Boolean(look.whole);
        for (const canvas of root.querySelectorAll('canvas[data-heat]')) {
            charts.heatmap(canvas, samples, {key: canvas.dataset.heat, most, range, isOver, pointer});
        }
        for (const canvas of root.querySelectorAll('canvas[data-chart]')) {
            const level = canvas.dataset.chart === 'queues' && details ? details.queue_depth : null;
            charts.lines(canvas, samples, {...chartOf[canvas.dataset.chart], level, range, isOver, pointer});
        }
        const counted = look.whole ? 'in this run' : 'since the creation';
        for (const small of root.querySelectorAll('.counted')) setText(small, counted);
        fillTable(root.querySelector('.totals'), [counted, ''],
            look.totals ? totalRows(look.totals) : [], 'not read yet');
        fillTable(root.querySelector('.clients'),
            ['client', 'who', 'requests /s', 'throughput', 'wait', 'service', 'share'],
            clientRows(look.clients, device.name, details), 'no client is connected');
        fillTable(root.querySelector('.settings'), ['setting', '', ''], settingRows(details),
            'no model, no limit, no fault: the device is as its backing is');
        fillTable(root.querySelector('.errnos'), ['operation', 'errno', 'requests'], errorRows(details),
            'nothing has failed');
        for (const code of root.querySelectorAll('code[data-command]')) {
            setText(code, code.dataset.command.replace('DEVICE', device.name));
        }
        markCut(root);
    }

    // A moment is the one below the pointer, or the one that was clicked.
    function followPointer(root, state, samples, rangeOf, redraw) {
        const move = pointer => {
            state.pointer = pointer;
            redraw();
        };
        for (const canvas of root.querySelectorAll('canvas')) {
            const indexOf = event => charts.sampleAt(canvas, event.offsetX, samples(), rangeOf());
            canvas.addEventListener('pointermove', event => state.pinned || move(indexOf(event)));
            canvas.addEventListener('pointerleave', () => state.pinned || move(null));
            canvas.addEventListener('click', event => {
                state.pinned = indexOf(event) !== null;
                move(indexOf(event));
            });
        }
    }

    function changeTheme(redraw) {
        const isDark = getComputedStyle(document.documentElement).colorScheme.includes('dark');
        document.documentElement.dataset.theme = isDark ? 'light' : 'dark';
        charts.readColours();
        redraw();
    }

    // The pointer, the keys and the colours of a page. `samples` gives those of the
    // device that is shown, and `rangeOf` the time of the width.
    function start(root, state, samples, rangeOf, redraw, moreKeys) {
        const keys = {
            ...moreKeys,
            t: () => changeTheme(redraw),
            Escape: () => {
                state.pinned = false;
                state.pointer = null;
                redraw();
            },
        };
        document.addEventListener('keydown', event => {
            const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey;
            if (!isPlain || !keys[event.key]) return;
            event.preventDefault();
            keys[event.key]();
        });
        document.querySelector('#theme').addEventListener('click', () => changeTheme(redraw));
        window.addEventListener('resize', redraw);
        window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
            charts.readColours();
            redraw();
        });
        setText(document.querySelector('#zone'), Intl.DateTimeFormat().resolvedOptions().timeZone);
        charts.readColours();
        followPointer(root, state, samples, rangeOf, redraw);
        redraw();
    }

    return {draw, start, fillTable, markCut, element, setText};
})();
