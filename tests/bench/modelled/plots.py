"""The plots of the truth: theory as lines, what a run showed as points."""
import math

WIDTH, HEIGHT, LEFT, TOP, GAP = 380, 280, 56, 44, 70
COLOURS = {'M/M/1': '#1b6ca8', 'M/M/2': '#2e933c', 'M/M/4': '#8e44ad', 'M/M/16': '#17a2a2', 'M/D/1': '#d1495b',
           'M/G/1': '#e08e0b'}


class Axis:
    """From values to places, with a scale of its own."""

    def __init__(self, low, high, length, marks, logarithmic=False):
        self.low, self.high, self.length, self.marks, self.logarithmic = low, high, length, marks, logarithmic

    def place(self, value):
        if not self.logarithmic:
            return (value - self.low) / (self.high - self.low) * self.length
        return math.log(value / self.low) / math.log(self.high / self.low) * self.length

    def holds(self, value):
        return self.low <= value <= self.high


def text(x, y, words, anchor='middle', size=11):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{words}</text>'


class Panel:
    """A frame with a grid, in which lines and points are drawn."""

    def __init__(self, title, across, down, names):
        self.across, self.down = across, down
        self.parts = []
        for mark in across.marks:
            x = across.place(mark)
            self.parts += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{HEIGHT}" stroke="#eee"/>',
                           text(x, HEIGHT + 15, f'{mark:g}', size=10)]
        for mark in down.marks:
            y = HEIGHT - down.place(mark)
            self.parts += [f'<line x1="0" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eee"/>',
                           text(-5, y + 4, f'{mark:g}', 'end', 10)]
        self.parts += [text(WIDTH / 2, -8, title, size=13), text(WIDTH / 2, HEIGHT + 32, names[0]),
                       f'<g transform="translate(-40,{HEIGHT / 2}) rotate(-90)">{text(0, 0, names[1])}</g>']

    def at(self, x, y):
        return self.across.place(x), HEIGHT - self.down.place(y)

    def line(self, points, colour, dashes=''):
        inside = [self.at(x, y) for x, y in points if self.across.holds(x) and self.down.holds(y)]
        path = ' '.join(f'{x:.1f},{y:.1f}' for x, y in inside)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.3" '
                          f'stroke-dasharray="{dashes}"/>')

    def point(self, x, y, colour):
        if not (self.across.holds(x) and self.down.holds(y)):
            return
        x, y = self.at(x, y)
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')

    def bar(self, low, high, y, colour):
        left, top = self.at(low, y)
        right, _ = self.at(high, y)
        self.parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left - 1:.1f}" '
                          f'height="{HEIGHT - top:.1f}" fill="{colour}"/>')

    def drawn(self, number):
        frame = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>'
        return '\n'.join([f'<g transform="translate({LEFT + number * (WIDTH + GAP)},{TOP})">', *self.parts, frame,
                          '</g>'])


def picture(title, panels, names):
    width = LEFT + len(panels) * (WIDTH + GAP)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 70}" '
             'font-family="sans-serif">', '<rect width="100%" height="100%" fill="white"/>',
             text(width / 2, 17, title, size=15)]
    lines += [panel.drawn(number) for number, panel in enumerate(panels)]
    for i, name in enumerate(names):
        x, y = LEFT + i * 110, TOP + HEIGHT + 58
        lines += [f'<line x1="{x}" x2="{x + 18}" y1="{y - 4}" y2="{y - 4}" stroke="{COLOURS[name]}" '
                  'stroke-width="3"/>', text(x + 24, y, name, 'start')]
    return '\n'.join([*lines, '</svg>', ''])


def queues_picture(curves, rows):
    """wsvc_t and %w over the load: the curves of theory, the points of the runs."""
    loads = (0, 0.2, 0.5, 0.8, 0.95)
    wait = Panel('mean wait, by mean service times', Axis(0, 1, WIDTH, loads),
                 Axis(0.001, 100, HEIGHT, (0.001, 0.01, 0.1, 1, 10, 100), True), ('load', 'wsvc_t / asvc_t'))
    share = Panel('%w: time in which a request waits', Axis(0, 1, WIDTH, loads),
                  Axis(0, 100, HEIGHT, (0, 25, 50, 75, 100)), ('load', '%w'))
    for queue, colour in COLOURS.items():
        mine = [curve for curve in curves if curve.queue == queue]
        wait.line([(curve.load, curve.wait) for curve in mine], colour)
        share.line([(curve.load, 100 * curve.waiting) for curve in mine], colour)
        seen = {(row.load, row.figure): row.seen for row in rows if row.queue == queue}
        for load in loads[1:]:
            if (load, 'wsvc_t') in seen:
                wait.point(load, seen[load, 'wsvc_t'] / seen[load, 'asvc_t'], colour)
                share.point(load, 100 * seen[load, '%w'], colour)
    return picture('Lines: theory. Points: a modelled device in virtual time.', [wait, share], COLOURS)


def normal(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def tails_picture(tails, rows):
    """The share of requests that wait longer, at one load; and all deviations beside a normal curve."""
    load = 0.8
    longer = Panel('requests that wait longer, at load 0.8', Axis(0, 30, WIDTH, (0, 10, 20, 30)),
                   Axis(1e-3, 1, HEIGHT, (1e-3, 1e-2, 1e-1, 1), True), ('milliseconds', 'share of requests'))
    for queue, colour in COLOURS.items():
        longer.line([(tail.time, tail.share) for tail in tails if (tail.queue, tail.load) == (queue, load)], colour)
        for row in rows:
            if (row.queue, row.load) == (queue, load) and row.figure.startswith('wait p'):
                longer.point(row.seen, 1 - float(row.figure.removeprefix('wait p')) / 100, colour)
    errors = [row.deviation_errors for row in rows if row.deviation_errors is not None]
    spread = Panel('deviations of all figures', Axis(-4, 4, WIDTH, range(-4, 5)),
                   Axis(0, 0.6, HEIGHT, (0, 0.2, 0.4, 0.6)), ('standard errors', 'density; line: normal'))
    step = 0.5
    for i in range(-8, 8):
        low = i * step
        count = sum(1 for error in errors if low <= error < low + step)
        spread.bar(low, low + step, count / len(errors) / step, '#bcd4e6')
    spread.line([(x / 20, normal(x / 20)) for x in range(-80, 81)], '#444')
    names = sorted({tail.queue for tail in tails}, key=list(COLOURS).index)
    return picture('Lines: theory. Points: p50, p90, p99 and p99.9 in virtual time.', [longer, spread], names)
