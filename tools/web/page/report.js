// A report of a run: the panels of the live page, with the data that is in this file.
'use strict';

(() => {
    const data = JSON.parse(document.querySelector('#data').textContent);
    const root = document.querySelector('#device');
    const list = document.querySelector('#devices');
    const state = {name: null, pointer: null, pinned: false};

    function columnOf(buckets) {
        const column = new Float32Array(model.rows);
        for (const [from, to, count] of buckets) model.addRequests(column, from, to, count);
        return column;
    }

    function sampleOf(one) {
        const waitColumn = columnOf(one.waits);
        const serviceColumn = columnOf(one.services);
        return {...one, waitColumn, serviceColumn, time: data.began + one.time, at: one.time,
            most: Math.max(...waitColumn, ...serviceColumn), p99: null};
    }

    // The whole run, as a sample.
    function wholeOf(total) {
        return {
            reads: total.reads_per_s, writes: total.writes_per_s,
            readBytes: total.read_bytes_per_s, writtenBytes: total.written_bytes_per_s,
            wait: total.wait, actv: total.actv, busy: total.b_pct, waiting: total.w_pct,
            wsvc: total.wsvc_t_ms, asvc: total.asvc_t_ms,
            p99: total.percentiles ? total.percentiles.total.p99_ns : null,
        };
    }

    const samplesOf = new Map(data.devices.map(one => [one.device, one.samples.map(sampleOf)]));
    const totals = new Map(data.total.devices.map(one => [one.device, one]));
    const firsts = new Map(data.first.devices.map(one => [one.device, one]));
    const summaries = new Map(data.summary.devices.map(one => [one.device, one]));
    const details = new Map(data.overview.devices.map(one => [one.device, one]));
    const deviceOf = total => ({name: total.device, kind: total.class, here: true,
        samples: samplesOf.get(total.device) || []});
    const disks = data.total.devices.filter(one => one.class === 'disk' && !one.device.includes(',')).map(deviceOf);

    // The counters of the run alone. Those of a device that was made anew began at zero.
    function inRun(total) {
        const first = firsts.get(total.device);
        if (!first || first.crtime_ns !== total.crtime_ns) return total;
        const counters = {...total.counters};
        for (const key of Object.keys(counters)) counters[key] -= first.counters[key];
        const errors = total.errors && {...total.errors, total: total.errors.total - first.errors.total};
        return {...total, counters, errors};
    }

    // A client may have closed before the end. Its rates are those of the whole run.
    function wholeOfClient(samples) {
        const sum = key => samples.reduce((all, one) => all + (one[key] || 0) * one.elapsed, 0);
        const requests = sum('reads') + sum('writes');
        const mean = key => requests === 0 ? null
            : samples.reduce((all, one) => all + (one[key] || 0) * (one.reads + one.writes) * one.elapsed, 0) / requests;
        return {reads: sum('reads') / data.seconds, writes: sum('writes') / data.seconds,
            readBytes: sum('readBytes') / data.seconds, writtenBytes: sum('writtenBytes') / data.seconds,
            wsvc: mean('wsvc'), asvc: mean('asvc')};
    }

    const clientsOf = disk => data.devices.filter(one => one.device.startsWith(disk + ',client-'))
        .map(one => ({name: one.device, samples: [wholeOfClient(one.samples)]}))
        .filter(one => one.samples[0].reads + one.samples[0].writes > 0);

    // The run is the width of a chart.
    const range = {from: 0, to: Math.max(data.seconds, 0.001)};
    const chosen = () => disks.find(one => one.name === state.name) || disks[0];

    function drawSummary(device) {
        const summary = summaries.get(device.name);
        const columns = [['requests /s', 'transfers_per_s', words.number], ['wait', 'wait', words.number],
            ['actv', 'actv', words.number], ['wsvc_t', 'wsvc_t_ms', words.time],
            ['asvc_t', 'asvc_t_ms', words.time], ['%b', 'b_pct', words.number]];
        const rows = ['average', 'minimum', 'maximum'].map(kind => [kind, ...columns.map(([, key, show]) =>
            ({key: kind + '-' + key, value: String(summary ? summary[kind][key] : null),
                text: show(summary ? summary[kind][key] : null)}))]);
        panels.fillTable(root.querySelector('.summary'), ['', ...columns.map(column => column[0])], rows, '');
    }

    function draw() {
        const device = chosen();
        if (!device) return;
        panels.draw(root, {device, samples: device.samples, range, pointer: state.pointer,
            whole: wholeOf(totals.get(device.name)), details: details.get(device.name),
            totals: inRun(totals.get(device.name)), clients: clientsOf(device.name)});
        drawSummary(device);
        panels.markCut(root);
        for (const card of list.children) {
            card.setAttribute('aria-current', String(card.dataset.device === device.name));
            charts.spark(card.querySelector('canvas'),
                disks.find(one => one.name === card.dataset.device).samples.slice(-60).map(one => one.reads + one.writes));
        }
    }

    function makeCards() {
        for (const device of disks) {
            const card = panels.element('button', undefined, 'card');
            const whole = wholeOf(totals.get(device.name));
            card.type = 'button';
            card.dataset.device = device.name;
            card.append(panels.element('span', device.name, 'name'),
                panels.element('span', words.number(whole.reads + whole.writes) + ' /s', 'say'),
                document.createElement('canvas'));
            card.addEventListener('click', () => { state.name = device.name; state.pointer = null; draw(); });
            list.append(card);
        }
    }

    function step(by) {
        const at = disks.indexOf(chosen());
        state.name = disks[(at + by + disks.length) % disks.length].name;
        draw();
    }

    // The headline is the verdict of the exit status: the first thing on the page.
    function drawVerdict() {
        const headline = document.querySelector('#headline');
        const verdict = data.failed ? 'FAILED' : data.conditions.length > 0 ? 'PASSED' : 'ended well';
        panels.setText(headline, data.headline);
        headline.hidden = !data.failed && data.conditions.length === 0;
        headline.dataset.failed = String(data.failed);
        panels.setText(document.querySelector('#state'), verdict + ' after ' + data.seconds.toFixed(1) + ' s');
        document.querySelector('#state').dataset.state = data.failed ? 'silent' : 'live';
        if (data.failed) document.title = 'FAILED: ' + document.title;
        for (const line of data.findings) {
            const isTrue = line.startsWith('true: ');
            document.querySelector('#findings').append(panels.element('li', line, isTrue ? 'holds' : 'fails'));
        }
        for (const line of data.late) document.querySelector('#late').append(panels.element('li', line));
    }

    drawVerdict();
    panels.setText(document.querySelector('#command'), data.command.join(' ') || 'no command');
    panels.setText(document.querySelector('#when'), words.date(data.began));
    document.querySelector('#nothing').hidden = disks.length > 0;
    root.hidden = disks.length === 0;
    makeCards();
    panels.start(root, state, () => chosen().samples, () => range, draw, {j: () => step(1), k: () => step(-1)});
})();
