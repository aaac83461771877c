// Numbers and sentences as people read them.
'use strict';

const words = (() => {
    const significant = value => String(Number(value.toPrecision(3)));

    function number(value) {
        if (value === null || value === undefined || !Number.isFinite(value)) return '–';
        const size = Math.abs(value);
        if (size > 0 && size < 0.001) return '< 0.001';
        if (size >= 1e9) return significant(value / 1e9) + ' G';
        if (size >= 1e6) return significant(value / 1e6) + ' M';
        if (size >= 1e4) return significant(value / 1e3) + ' k';
        return size >= 100 ? value.toFixed(0) : significant(value);
    }
    const bytes = value => {
        if (value === null || value === undefined) return '–';
        const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
        let unit = 0;
        for (; value >= 1024 && unit < units.length - 1; ++unit) value /= 1024;
        return (value >= 100 ? value.toFixed(0) : significant(value)) + ' ' + units[unit];
    };
    function time(ms) {
        if (ms === null || ms === undefined) return '–';
        ms = Number(ms.toPrecision(3));  // 999.9999 µs are 1 ms
        if (ms >= 1000) return significant(ms / 1000) + ' s';
        if (ms >= 1) return significant(ms) + ' ms';
        return ms === 0 ? '0' : significant(ms * 1000) + ' µs';
    }
    const nanoseconds = ns => time(ns === null || ns === undefined ? null : ns / 1e6);
    const two = value => String(value).padStart(2, '0');
    const clockOf = day => [day.getHours(), day.getMinutes(), day.getSeconds()].map(two).join(':');

    // ISO 8601, in the reader's time zone: the same text in each language of a browser.
    const clock = seconds => clockOf(new Date(seconds * 1000));
    function date(seconds) {
        const day = new Date(seconds * 1000);
        return [day.getFullYear(), two(day.getMonth() + 1), two(day.getDate())].join('-') + ' ' + clockOf(day);
    }

    // What held requests back, if a setting did.
    function held(details) {
        if (!details) return '';
        if (details.upstream && !details.upstream.connected) return ' Its upstream is not connected: ' + details.upstream.state + '.';
        if (details.limited) return ' The limit ' + details.limited + ' holds requests back.';
        return '';
    }

    // The counts of a live page are since the creation; those of a run that is over are its own.
    function failed(details, isOver) {
        const count = (details ? details.errors : []).reduce((sum, one) => sum + one.count, 0);
        if (count === 0) return '';
        if (isOver) return ' ' + number(count) + (count === 1 ? ' request' : ' requests') + ' failed.';
        return ' Since its creation ' + number(count) + (count === 1 ? ' request has' : ' requests have') + ' failed.';
    }

    function share(sample) {
        const total = sample.wsvc + sample.asvc;
        const waits = total > 0 ? sample.wsvc / total : 0;
        const percent = Math.round(100 * waits);
        if (waits < 0.05) return 'nearly all of it in service';
        if (waits > 0.95) return 'nearly all of it waiting to be started';
        return percent + ' % waiting and ' + (100 - percent) + ' % in service';
    }

    function full(sample, depth, isOver) {
        if (!depth || sample.actv < 0.9 * depth) return '';
        return ' All ' + depth + ' places of the queue depth ' + (isOver ? 'were' : 'are') + ' taken.';
    }

    // The one sentence about a device: what it does, and where the time goes. Of a run that is over, it
    // says what the device did.
    function sentence(device, sample, details, isOver = false) {
        const name = device.name;
        if (!device.here) return name + ' has given no answer since ' + clock(device.goneSince) + '.';
        if (!sample) return name + ' is there. The first second is being counted.';
        if (sample.reads + sample.writes === 0) {
            const waiting = sample.wait + sample.actv;
            if (waiting === 0 || isOver) return name + (isOver ? ' was idle.' : ' is idle.') + failed(details, isOver);
            return name + ' finished nothing in this second, and ' + number(waiting) +
                ' requests are under way.' + held(details);
        }
        const kinds = [];
        if (sample.reads > 0) kinds.push(number(sample.reads) + ' reads');
        if (sample.writes > 0) kinds.push(number(sample.writes) + ' writes');
        return name + (isOver ? ' did ' : ' does ') + kinds.join(' and ') + ' a second, ' +
            bytes(sample.readBytes + sample.writtenBytes) + '/s. A request ' + (isOver ? 'took ' : 'takes ') +
            time(sample.wsvc + sample.asvc) + ', ' + share(sample) + '.' +
            full(sample, details && details.queue_depth, isOver) + (isOver ? '' : held(details)) + failed(details, isOver);
    }

    // What the device is, where that is known: its backing, and what clients call it.
    function source(details) {
        if (!details || !details.backing) return '';
        return 'backing ' + details.backing + (details.export ? ' · export ' + details.export : '');
    }

    return {number, bytes, time, nanoseconds, clock, date, source, sentence};
})();
