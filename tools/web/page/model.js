// The last minutes of each device, from the reports of `iostat -jw`.
//
//     report ──▶ take() ──▶ device.samples: one a second, the newest last
//
// A sample has the figures of one interval, and the two histograms as columns of a heatmap.
'use strict';

const model = (() => {
    const secondsKept = 300;
    const longestInterval = 10;  // seconds; a machine under load may skip some events
    const lowest = 1e3;         // ns: the lower edge of the first row
    const rowsPerDecade = 6;
    const rows = 7 * rowsPerDecade;  // from 1 us to 10 s
    const devices = new Map();
    let newest = {at: 0, ts: 0};  // the last report, by the clock of the samples and by that of the day

    // The row of a time in ns; a fraction lies within the row.
    const rowOf = ns => Math.log10(Math.max(ns, lowest) / lowest) * rowsPerDecade;

    // Adds requests whose times are from `from` to `to`. They are spread over the rows between.
    function addRequests(column, from, to, count) {
        const low = rowOf(from);
        const high = Math.max(rowOf(to), low + 0.01);
        for (let row = Math.floor(low); row < high && row < rows; ++row) {
            const share = Math.min(high, row + 1) - Math.max(low, row);
            column[row] += count * share / (high - low);
        }
        if (low >= rows) column[rows - 1] += count;
    }

    function addHistogram(column, histogram) {
        if (!histogram || histogram.unit !== 'ns') return;
        const {bounds, counts} = histogram;
        counts.forEach((count, i) => {
            if (count === 0) return;
            const from = i === 0 ? lowest : bounds[i - 1];
            addRequests(column, from, i < bounds.length ? bounds[i] : from, count);
        });
    }

    function columnOf(histograms, phase) {
        const column = new Float32Array(rows);
        if (!histograms) return column;
        addHistogram(column, histograms['read_' + phase]);
        addHistogram(column, histograms['write_' + phase]);
        return column;
    }

    // The errors of the interval in a second. The report has those since the creation.
    function errorsOf(one, before) {
        if (!one.errors || !before.errors || before.crtime_ns !== one.crtime_ns) return 0;
        return Math.max(0, one.errors.total - before.errors.total) / one.elapsed_s;
    }

    function sampleOf(one, before, time) {
        const percentile = (phase, key) => one.percentiles ? one.percentiles[phase][key] : null;
        const waitColumn = columnOf(one.histograms, 'wait');
        const serviceColumn = columnOf(one.histograms, 'service');
        return {
            time, at: one.snaptime_ns / 1e9, elapsed: one.elapsed_s, waitColumn, serviceColumn,
            most: Math.max(...waitColumn, ...serviceColumn),
            reads: one.reads_per_s, writes: one.writes_per_s,
            readBytes: one.read_bytes_per_s, writtenBytes: one.written_bytes_per_s,
            wait: one.wait, actv: one.actv, busy: one.b_pct, waiting: one.w_pct,
            wsvc: one.wsvc_t_ms, asvc: one.asvc_t_ms,
            p50: percentile('total', 'p50_ns'), p99: percentile('total', 'p99_ns'),
            max: percentile('total', 'max_ns'),
            errors: errorsOf(one, before),
        };
    }

    function deviceOf(one, time) {
        let device = devices.get(one.device);
        if (!device) {
            const comma = one.device.indexOf(',');
            device = {
                name: one.device, kind: one.class,
                disk: comma < 0 ? one.device : one.device.slice(0, comma),
                samples: [], last: one, here: true, goneSince: null, backSince: null,
            };
            devices.set(one.device, device);
        } else if (!device.here) {
            device.here = true;
            device.backSince = time;
        } else if (device.last.crtime_ns !== one.crtime_ns) {
            device.backSince = time;  // served anew between two reports
        }
        return device;
    }

    // Without devices, the clock of the day goes on.
    function moveClock(report) {
        const at = report.devices.length > 0
            ? Math.max(...report.devices.map(one => one.snaptime_ns / 1e9))
            : newest.at && newest.at + Math.max(0, report.ts - newest.ts);
        newest = {at, ts: report.ts};
    }

    // Takes a report. The first one may be since the creation, or since a page was open long ago. Neither
    // is a second.
    function take(report) {
        const time = report.ts;
        moveClock(report);
        const seen = new Set();
        for (const one of report.devices) {
            const device = deviceOf(one, time);
            seen.add(device.name);
            const before = device.last;
            device.last = one;
            if (report.since_creation || one.elapsed_s > longestInterval) continue;
            device.samples.push(sampleOf(one, before, time));
        }
        for (const device of devices.values()) {
            while (device.samples.length && device.samples[0].at < newest.at - secondsKept) device.samples.shift();
            if (seen.has(device.name) || !device.here) continue;
            device.here = false;
            device.goneSince = time;
            if (device.kind !== 'disk') devices.delete(device.name);
        }
    }

    const byName = (a, b) => a.name.localeCompare(b.name, undefined, {numeric: true});
    const disks = () => [...devices.values()].filter(one => one.name === one.disk).sort(byName);
    const clientsOf = disk => [...devices.values()]
        .filter(one => one.disk === disk && one.kind === 'client').sort(byName);

    const now = () => newest.at;

    return {take, addRequests, devices, disks, clientsOf, rows, rowsPerDecade, lowest, secondsKept, now};
})();
