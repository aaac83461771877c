#!/usr/bin/env python3
"""Draws what digest_accuracy measured: the error of the rank over the requested share.

Each distribution has a line, and each number of centroids has a panel.

usage: digest_accuracy 10000000 | tests/bench/digest/plot.py > docs/digest-accuracy.svg
"""
import collections
import math
import sys

WIDTH, HEIGHT, LEFT, TOP, GAP = 360, 300, 60, 46, 40
FLOOR, CEILING = 1e-6, 1e-1
COLOURS = ["#1b6ca8", "#d1495b", "#2e933c", "#8e44ad", "#e08e0b", "#444444", "#17a2a2",
           "#a0522d", "#7f7f00", "#e377c2"]


def across(share):
    """Shares on the scale of their odds, which shows both ends."""
    low, high = math.log(0.001 / 0.999), math.log(0.9999 / 0.0001)
    return (math.log(share / (1 - share)) - low) / (high - low) * WIDTH


def down(error):
    span = math.log(CEILING / FLOOR)
    return HEIGHT - math.log(min(max(error, FLOOR), CEILING) / FLOOR) / span * HEIGHT


def text(x, y, words, anchor="middle", size=11):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{words}</text>'


def grid(with_scale):
    for power in range(-6, 0):
        y = down(10.0**power)
        yield f'<line x1="0" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        if with_scale:
            yield text(-6, y + 4, f"10<tspan dy='-4' font-size='8'>{power}</tspan>", "end")
    for share in (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999):
        x = across(share)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{HEIGHT}" stroke="#eee"/>'
        yield text(x, HEIGHT + 16, f"{share:g}", size=9)


def panel(number, centroids, lines, names):
    yield f'<g transform="translate({LEFT + number * (WIDTH + GAP)},{TOP})">'
    yield from grid(number == 0)
    yield text(WIDTH / 2, -8, f"{centroids} centroids", size=13)
    for name, points in lines.items():
        path = " ".join(f"{across(q):.1f},{down(error):.1f}" for q, error in points)
        colour = COLOURS[names.index(name) % len(COLOURS)]
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/></g>'


def main():
    rows = [line.rstrip("\n").split("\t") for line in sys.stdin][1:]
    panels = collections.defaultdict(lambda: collections.defaultdict(list))
    for name, centroids, _, share, error in rows:
        panels[int(centroids)][name].append((float(share), float(error)))
    names = list(dict.fromkeys(row[0] for row in rows))
    width = LEFT + len(panels) * (WIDTH + GAP)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 70}" font-family="sans-serif">')
    print('<rect width="100%" height="100%" fill="white"/>')
    values = int(rows[0][2])
    print(text(width / 2, 18, f"Error of the rank by the share asked for, {values:,} values", size=15))
    for number, (centroids, lines) in enumerate(sorted(panels.items())):
        print("\n".join(panel(number, centroids, lines, names)))
    for i, name in enumerate(names):
        x = LEFT + i * 120
        y = TOP + HEIGHT + 48
        print(f'<line x1="{x}" x2="{x + 18}" y1="{y - 4}" y2="{y - 4}" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="3"/>')
        print(text(x + 24, y, name, "start"))
    print("</svg>")


if __name__ == "__main__":
    main()
