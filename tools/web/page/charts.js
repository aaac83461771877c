// Drawings on canvas: a chart of lines over time, and a heatmap of times.
//
// The width is `range`, a time {from, to} in seconds. A sample stands for the time {at - elapsed, at}, so
// a time without samples is a gap. A drawing keeps nothing but the place of the pointer, which all
// drawings share.
'use strict';

const charts = (() => {
    const left = 56;
    const bottom = 18;
    const top = 6;
    const right = 8;
    let colours = {};

    // The colours of the style sheet, which differ in the light and in the dark.
    function readColours() {
        const style = getComputedStyle(document.documentElement);
        for (const name of ['ink', 'faint', 'line', 'read', 'write', 'wait', 'service', 'bad', 'panel']) {
            colours[name] = style.getPropertyValue('--' + name).trim();
        }
        colours.heat = style.getPropertyValue('--heat').trim().split(/\s+/);
    }

    // Fits the canvas to its place, in the pixels of the screen.
    function begin(canvas) {
        const ratio = window.devicePixelRatio || 1;
        const width = canvas.clientWidth;
        const height = canvas.clientHeight;
        const wanted = [Math.round(width * ratio), Math.round(height * ratio)];
        if (canvas.width !== wanted[0] || canvas.height !== wanted[1]) [canvas.width, canvas.height] = wanted;
        const pen = canvas.getContext('2d');
        pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        pen.clearRect(0, 0, width, height);
        pen.font = '11px ' + getComputedStyle(document.body).fontFamily;
        return {pen, width, height, area: {x: left, y: top, w: width - left - right, h: height - top - bottom}};
    }

    // The first value of 1, 2, 5 times a power of ten that is not below `value`. Bytes are counted in
    // powers of 1024.
    function rounded(value, isBytes) {
        const unit = isBytes ? 1024 ** Math.floor(Math.log(value) / Math.log(1024)) : 1;
        const power = 10 ** Math.floor(Math.log10(value / unit));
        return [1, 2, 5, 10].map(step => step * power * unit).find(step => step >= value * 0.9999);
    }

    // The time between two marks: the first one of these with at most so many in the width.
    function timeStep(seconds, most) {
        const power = 10 ** Math.floor(Math.log10(seconds / most));
        const parts = [1, 2, 5, 10].map(step => step * power);
        const clock = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
        const steps = seconds / most > 5 ? clock : parts;
        return steps.find(step => seconds / step <= most * 1.0001) || steps[steps.length - 1];
    }

    function timeText(seconds, step) {
        if (seconds === 0) return '0';
        const [size, unit] = step >= 3600 ? [3600, ' h'] : step >= 60 ? [60, ' min'] : [1, ' s'];
        return Number((seconds / size).toPrecision(6)) + unit;
    }

    // Each mark is at a round time. A run that is over counts from its beginning; else it is the time ago.
    function drawTimes(pen, area, range, isOver) {
        const seconds = range.to - range.from;
        const step = timeStep(seconds, area.w > 420 ? 6 : 4);
        pen.fillStyle = colours.faint;
        pen.textBaseline = 'top';
        for (let i = 0; i * step <= seconds * 1.0001; ++i) {
            const part = i * step / seconds;
            const x = area.x + area.w * (isOver ? part : 1 - part);
            const text = timeText(i * step, step);
            pen.textAlign = x < area.x + 16 ? 'left' : x > area.x + area.w - 16 ? 'right' : 'center';
            pen.fillText(isOver ? text : i === 0 ? 'now' : '−' + text, x, area.y + area.h + 5);
        }
    }

    function stroke(pen, from, to) {
        pen.beginPath();
        pen.moveTo(...from);
        pen.lineTo(...to);
        pen.stroke();
    }

    function drawScale(pen, area, highest, show) {
        pen.textAlign = 'right';
        pen.textBaseline = 'middle';
        pen.lineWidth = 1;
        for (const part of [0, 0.5, 1]) {
            const y = Math.round(area.y + area.h * (1 - part)) + 0.5;
            pen.strokeStyle = colours.line;
            stroke(pen, [area.x, y], [area.x + area.w, y]);
            pen.fillStyle = colours.faint;
            pen.fillText(show(highest * part), area.x - 6, y);
        }
    }

    const xOf = (area, at, range) =>
        area.x + area.w * Math.min(1, Math.max(0, (at - range.from) / (range.to - range.from)));

    // Runs of samples without a time between them.
    function runsOf(samples) {
        const runs = [];
        samples.forEach((sample, i) => {
            const before = samples[i - 1];
            const follows = before && sample.at - sample.elapsed * 1.5 < before.at;
            if (follows) runs[runs.length - 1].push(sample);
            else runs.push([sample]);
        });
        return runs;
    }

    function drawPointer(pen, area, x) {
        pen.strokeStyle = colours.ink;
        pen.globalAlpha = 0.5;
        stroke(pen, [Math.round(x) + 0.5, area.y], [Math.round(x) + 0.5, area.y + area.h]);
        pen.globalAlpha = 1;
    }

    function drawLine(pen, area, points, colour, base) {
        if (points.length === 0) return;
        pen.beginPath();
        points.forEach(([x, y], i) => i === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y));
        pen.strokeStyle = colour;
        pen.lineWidth = 1.6;
        pen.lineJoin = 'round';
        pen.stroke();
        const under = [...base].reverse();
        under.forEach(([x, y]) => pen.lineTo(x, y));
        pen.closePath();
        pen.globalAlpha = 0.16;
        pen.fillStyle = colour;
        pen.fill();
        pen.globalAlpha = 1;
    }

    // A run begins where its first sample does.
    function drawRun(pen, area, run, {wanted, stacked, highest, range, yOf}) {
        const floor = [run[0].at - run[0].elapsed, ...run.map(sample => sample.at)]
            .map(at => [xOf(area, at, range), area.y + area.h]);
        const values = [run[0], ...run];
        let base = floor;
        for (const line of wanted) {
            const points = values.map((sample, i) => {
                const below = stacked ? (area.y + area.h - base[i][1]) / area.h * highest : 0;
                return [base[i][0], yOf(below + (sample[line.key] || 0))];
            });
            drawLine(pen, area, points, colours[line.colour], stacked ? base : floor);
            if (stacked) base = points;
        }
    }

    // `lines` are {key, colour}; `stacked` puts each on the one before. `level` is a dashed line.
    function lines(canvas, samples, {lines: wanted, stacked = false, isBytes = false, level = null, least = 1, show, range, isOver, pointer}) {
        const {pen, area} = begin(canvas);
        const sums = samples.map(sample => wanted.reduce(
            (sum, line) => stacked ? sum + (sample[line.key] || 0) : Math.max(sum, sample[line.key] || 0), 0));
        const highest = rounded(Math.max(least, level || 0, ...sums), isBytes);
        drawScale(pen, area, highest, show);
        drawTimes(pen, area, range, isOver);
        const yOf = value => area.y + area.h * (1 - value / highest);
        for (const run of runsOf(samples)) drawRun(pen, area, run, {wanted, stacked, highest, range, yOf});
        if (level) {
            pen.setLineDash([5, 4]);
            pen.strokeStyle = colours.ink;
            stroke(pen, [area.x, yOf(level)], [area.x + area.w, yOf(level)]);
            pen.setLineDash([]);
        }
        if (pointer !== null && pointer < samples.length) drawPointer(pen, area, xOf(area, samples[pointer].at, range));
    }

    function drawDecades(pen, area) {
        const decades = ['1 µs', '10 µs', '100 µs', '1 ms', '10 ms', '100 ms', '1 s', '10 s'];
        pen.textAlign = 'right';
        pen.textBaseline = 'middle';
        decades.forEach((text, i) => {
            const y = Math.round(area.y + area.h * (1 - i / (decades.length - 1))) + 0.5;
            pen.strokeStyle = colours.line;
            stroke(pen, [area.x, y], [area.x + area.w, y]);
            pen.fillStyle = colours.faint;
            if (area.h > 110 || i % 2 === 1) pen.fillText(text, area.x - 6, y);
        });
    }

    // A row is a range of times, and a darker cell has more requests. `most` is the scale, which the
    // two heatmaps of a device share.
    function heatmap(canvas, samples, {key, most, range, isOver, pointer}) {
        const {pen, area} = begin(canvas);
        drawDecades(pen, area);
        drawTimes(pen, area, range, isOver);
        const height = area.h / model.rows;
        samples.forEach(sample => {
            const x = xOf(area, sample.at - sample.elapsed, range);
            const width = xOf(area, sample.at, range) - x;
            sample[key].forEach((count, row) => {
                if (count < 0.5) return;
                const heat = Math.log1p(count) / Math.log1p(Math.max(most, 1));
                const colour = Math.min(colours.heat.length - 1, Math.floor(heat * colours.heat.length));
                pen.fillStyle = colours.heat[colour];
                pen.fillRect(x, area.y + area.h - (row + 1) * height, Math.ceil(width * 2) / 2 + 0.4, height + 0.4);
            });
        });
        if (pointer !== null && pointer < samples.length) {
            drawPointer(pen, area, xOf(area, samples[pointer].at - samples[pointer].elapsed / 2, range));
        }
    }

    const mostOf = samples => samples.reduce((most, sample) => Math.max(most, sample.most), 1);

    // The sample below the pointer; null: there is none.
    function sampleAt(canvas, x, samples, range) {
        const share = (x - left) / (canvas.clientWidth - left - right);
        const at = range.from + share * (range.to - range.from);
        const index = samples.findIndex(sample => sample.at >= at);
        if (share < 0 || share > 1 || index < 0) return null;
        return samples[index].at - samples[index].elapsed * 1.5 <= at ? index : null;
    }

    // A line without axes, for the list of devices.
    function spark(canvas, values) {
        const ratio = window.devicePixelRatio || 1;
        canvas.width = Math.round(canvas.clientWidth * ratio);
        canvas.height = Math.round(canvas.clientHeight * ratio);
        const pen = canvas.getContext('2d');
        const highest = Math.max(1, ...values);
        const points = values.map((value, i) => [canvas.width * (1 - (values.length - 1 - i) / 59),
            canvas.height - 2 - (canvas.height - 4) * value / highest]);
        drawLine(pen, null, points, colours.service, points.map(([x]) => [x, canvas.height]));
    }

    return {readColours, timeStep, lines, heatmap, mostOf, sampleAt, runsOf, spark};
})();
