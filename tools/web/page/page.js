// The live page: the stream of events, the choice of a device and of a moment, the keys.
'use strict';

(() => {
    const detailsEvery = 2000;
    const silentAfter = 4000;
    const root = document.querySelector('#device');
    const list = document.querySelector('#devices');
    const state = {name: null, pointer: null, pinned: false, paused: false, heard: 0,
        details: new Map(), totals: null, overview: null};

    function chosen() {
        const disks = model.disks();
        return disks.find(one => one.name === state.name) || disks[0] || null;
    }

    function choose(name) {
        state.name = name;
        state.totals = null;
        state.pointer = null;
        state.pinned = false;
        ask();
        draw();
    }

    function drawCard(card, device) {
        const last = device.samples[device.samples.length - 1];
        card.classList.toggle('gone', !device.here);
        card.setAttribute('aria-current', String(device === chosen()));
        panels.setText(card.querySelector('.name'), device.name);
        let say = last ? words.number(last.reads + last.writes) + ' /s' : '…';
        if (!device.here) say = 'gone since ' + words.clock(device.goneSince);
        else if (device.backSince && (!last || last.time - device.backSince < 60)) {
            say = 'back since ' + words.clock(device.backSince);
        }
        panels.setText(card.querySelector('.say'), say);
        charts.spark(card.querySelector('canvas'), device.samples.slice(-60).map(one => one.reads + one.writes));
    }

    function cardOf(device) {
        const found = [...list.children].find(card => card.dataset.device === device.name);
        if (found) return found;
        const card = panels.element('button', undefined, 'card');
        card.type = 'button';
        card.dataset.device = device.name;
        card.append(panels.element('span', '', 'name'), panels.element('span', '', 'say'), document.createElement('canvas'));
        card.addEventListener('click', () => choose(device.name));
        const after = [...list.children].find(other =>
            device.name.localeCompare(other.dataset.device, undefined, {numeric: true}) < 0);
        list.insertBefore(card, after || null);
        return card;
    }

    function drawNothing() {
        const places = state.overview ? state.overview.directories.join(', ') : '…';
        panels.setText(document.querySelector('#places'), places);
    }

    // A page that was just opened shows one minute, and later more.
    function rangeOf(device) {
        const to = model.now();
        const age = device.samples.length ? to - device.samples[0].at + device.samples[0].elapsed : 0;
        const seconds = [60, 120].find(span => age <= span) || model.secondsKept;
        return {from: to - seconds, to};
    }

    function draw() {
        const device = chosen();
        document.querySelector('#nothing').hidden = device !== null;
        root.hidden = device === null;
        if (device === null) return drawNothing();
        for (const disk of model.disks()) drawCard(cardOf(disk), disk);
        panels.draw(root, {device, samples: device.samples, range: rangeOf(device), pointer: state.pointer,
            details: state.details.get(device.name), totals: state.totals,
            clients: model.clientsOf(device.name)});
        const moment = state.pointer !== null && device.samples[state.pointer];
        panels.setText(document.querySelector('#moment'),
            moment ? 'at ' + words.clock(moment.time) + (state.pinned ? ' (Esc: now)' : '') : 'now');
    }

    function drawState() {
        const silent = Date.now() - state.heard > silentAfter;
        const text = state.heard === 0 ? 'connecting' : silent
            ? 'no data since ' + words.clock(state.heard / 1000) : state.paused ? 'paused' : 'live';
        const place = document.querySelector('#state');
        panels.setText(place, text);
        place.dataset.state = silent ? 'silent' : state.paused ? 'paused' : 'live';
        document.body.classList.toggle('silent', silent && state.heard !== 0);
    }

    // A pinned moment stays the same one while samples are added and the oldest are dropped.
    function take(report) {
        const device = chosen();
        const pinned = state.pinned && device ? device.samples[state.pointer] : null;
        model.take(report);
        if (pinned) {
            const index = device.samples.indexOf(pinned);
            if (index < 0) unpin();
            else state.pointer = index;
        }
        if (!state.paused) draw();
    }

    function unpin() {
        state.pinned = false;
        state.pointer = null;
    }

    async function fetchJson(path) {
        const reply = await fetch(path);
        if (!reply.ok) throw new Error(path + ': ' + reply.status);
        return reply.json();
    }

    // What changes slowly: who the clients are, the settings, and the totals.
    async function ask() {
        const device = chosen();
        const select = device ? '?device=' + encodeURIComponent(device.name) : '';
        try {
            state.overview = await fetchJson('api/v1/overview' + select);
            for (const one of state.overview.devices) state.details.set(one.device, one);
            if (!device || device !== chosen()) return drawNothing();
            const report = await fetchJson('api/v1/devices' + select);
            state.totals = report.devices.find(one => one.device === device.name) || state.totals;
        } catch (failure) {
            // The next attempt is soon. The line above the page says that there is no data.
        }
    }

    function listen() {
        const stream = new EventSource('api/v1/stream');
        stream.onmessage = event => {
            state.heard = Date.now();
            take(JSON.parse(event.data));
            drawState();
        };
        // A browser gives up when the server answers with an error, as it does when it has too many streams.
        stream.onerror = () => {
            if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
        };
        stream.addEventListener('failure', () => {
            state.heard = Date.now();
            take({ts: state.heard / 1000, since_creation: false, devices: []});
        });
    }

    function step(by) {
        const disks = model.disks();
        const at = disks.indexOf(chosen());
        if (at >= 0) choose(disks[(at + by + disks.length) % disks.length].name);
    }

    const pause = () => {
        state.paused = !state.paused;
        drawState();
        draw();
    };

    panels.start(root, state, () => chosen().samples, () => rangeOf(chosen()), draw,
        {j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1), ' ': pause});
    listen();
    ask();
    setInterval(ask, detailsEvery);
    setInterval(drawState, 1000);
})();
