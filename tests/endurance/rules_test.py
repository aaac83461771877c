#!/usr/bin/python3
"""Holds the rules of the long run against figures that are good and figures that are not."""
import pathlib
import sys
import tempfile
import time
import types
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

# pylint: disable=wrong-import-position
from endurance import Failure, Skipped, children, commands, fuzz, piece, results, simulation  # noqa: E402
from endurance.mixed import clients, hostile, probe, samples  # noqa: E402


def grown(figure, values):
    """The findings in a series of an hour."""
    taken = samples.Samples.__new__(samples.Samples)
    taken.ended, taken.begin = [], -samples.FLAT_SECONDS * 6
    taken.series = {('chain', 'kstats'): [50], ('server', figure): values}
    return taken.findings()


def flatness_is_the_medians_of_thirds():
    assert not grown('fds', [40, 44, 41, 90, 42, 47, 43, 40, 46])
    assert grown('fds', [40, 40, 40, 45, 45, 45, 49, 49, 49]) == ['fds of server grew from 40 to 49']
    assert not grown('RssAnon', [10000, 10000, 10000, 12000, 12000, 12000, 14096, 14096, 14096])
    assert grown('RssAnon', [10000] * 3 + [12000] * 3 + [14100] * 3)
    assert grown('Threads', [5, 5, 5, 6, 6, 6, 7, 7, 7])


def the_rows_of_two_machines_are_together_and_each_once():
    with tempfile.TemporaryDirectory() as folder:
        document, own = (pathlib.Path(folder, name) for name in ('endurance.jsonl', 'results.jsonl'))
        rows = [{'piece': 'kills', 'date': f'2026-01-0{day}', 'figures': {'kills': 7}} for day in (1, 2, 3)]
        results.write(document, [rows[0], rows[2]])
        for row in rows[:2]:
            results.append(own, row)
        with open(own, 'a', encoding='utf-8') as file:
            file.write('{"piece": "ki')
        assert results.together(document, own) == rows
        results.write(document, results.together(document, own))
        assert results.read(document) == rows


def figures_of(stalls, late, delayed, p99=(0.001,) * 9):
    minutes = [(0.0001, one, one, 6000) for one in p99]
    quiet = [(0.0001, 0.0005, 0.001, 6000)] * 9
    return {'probe': {'minutes': minutes, 'largest': max((end - begin for begin, end, _ in stalls), default=0.001),
                      'stalls': stalls},
            'clock-0': {'minutes': quiet, 'largest': 0.001, 'stalls': late}, 'delays': {'stalls': delayed}}


def found_in(*arguments, is_long=True, **more):
    return probe.evaluate(figures_of(*arguments, **more), is_long)[1]


def a_stall_is_the_servers_unless_the_machine_explains_it():
    stall = (100.0, 100.4, 0.0)
    assert not found_in([], [], [])
    assert found_in([stall], [], [])
    assert found_in([stall], [(90, 90.4, 0.4)], []), 'the clock was late at another moment'
    assert not found_in([stall], [(100.1, 100.3, 0.2)], [])
    assert not found_in([stall], [], [(100.0, 100.1, 0.1), (100.1, 100.2, 0.1)])
    assert not found_in([(100.0, 100.4, 0.3)], [], []), 'the client itself had no processor'
    assert found_in([(100.0, 100.3, 0.0)], [], [(99.7, 100.01, 0.3)]), 'that was before the stall'
    assert found_in([(100.0, 100.6, 0.2)], [(100.0, 100.2, 0.2)], []), 'two excuses for the same moment'
    assert not found_in([(100.0, 100.2, 0.0)], [], []), 'a stall of 0.2 s is allowed'


def p99_must_not_grow():
    assert found_in([], [], [], p99=(0.001,) * 6 + (0.004,) * 3)
    assert not found_in([], [], [], p99=(0.001,) * 6 + (0.002,) * 3)
    assert not found_in([], [], [], p99=(0.001,) * 6 + (0.004,) * 3, is_long=False)


def check(region, at, data):
    try:
        region.check(at, data)
        return True
    except Failure:
        return False


def a_region_allows_what_was_written():
    region = clients.Region(0, 8)
    old, new = (region.data(2, 1, version) for version in (1, 2))
    assert check(region, 2, bytes(4096)) and not check(region, 2, old)
    region.ended(2, 1, 1, True)
    assert check(region, 2, old) and not check(region, 2, bytes(4096)) and not check(region, 3, old)
    region.flushed()
    region.ended(2, 1, 2, False)
    assert check(region, 2, old) and check(region, 2, new), 'a write that failed may be there'
    region.ended(2, 1, 2, True)
    assert check(region, 2, new) and not check(region, 2, old)
    region.lost_power()
    torn = new[:512] + old[512:]
    assert check(region, 2, torn) and not check(region, 2, bytes(4096)), 'a flush keeps the first version'
    region.ended(2, 1, 3, True, stable=True)
    region.lost_power()
    assert check(region, 2, region.data(2, 1, 3)) and not check(region, 2, torn)


def row(name, seconds, figures, found=(), share=1.0):
    return {'piece': name, 'seconds': seconds, 'share': share, 'figures': figures, 'found': list(found),
            'date': '2026-11-25T20:00:00+00:00'}


def rows_add_up():
    lives = [{'first seed': 1, 'next seed': 101, 'lives': 100, 'answers': 7, 'processor seconds': 1800},
             {'first seed': 101, 'next seed': 201, 'lives': 90, 'answers': 3, 'processor seconds': 1800}]
    text = results.table([simulation.PIECE], [row('simulation', 1800, one) for one in lives])
    assert '| 2 | 1 h 00 min | 190 lives of the seeds 1 to 200, 10 answers, 1.0 hours of a processor |' in text, text
    rows = [row('fuzz', 10, {'fuzzers': {'a': {'seconds': 60, 'inputs': 5, 'corpus': 2}}}),
            row('fuzz', 10, {}, ['a: crash'])]
    text = results.table([fuzz.PIECE], rows)
    assert '1 fuzzers, each for 1 to 1 minutes; 5 inputs; 2 in the corpora' in text and '**FAILED**: a: crash' in text
    text = results.table([fuzz.PIECE], [*rows, rows[0]])
    assert '| passed; earlier runs found 1 |' in text and 'FAILED' not in text, text
    last = types.SimpleNamespace(together=None)
    rows = [row('page', 1, {'n': 1}), row('page', 1, {'n': 2}), row('page', 1, {'n': 3}, share=0.1)]
    assert [one['figures']['n'] for one in results.counted_rows(last, rows)] == [2], 'the last whole run'
    ended_early = [row('page', 100, {'n': 1}, share=0.5), row('page', 9, {'n': 2}, found=['a byte is wrong'])]
    assert [one['figures']['n'] for one in results.counted_rows(last, ended_early)] == [1], 'not the one that ended early'


def each_attack_and_each_series_is_there():
    kinds = ('garbage', 'web_garbage')
    assert not hostile.missing(kinds, {}, 30), 'there was no time'
    assert hostile.missing(kinds, {'garbage': 0}, 100) == list(kinds)
    assert not hostile.missing(kinds, {'garbage': 40}, 100)
    assert hostile.missing(kinds, {'garbage': 40, 'web_garbage': 0}, 600) == ['web_garbage']
    assert not hostile.Attacker.send_to('/nowhere/socket', b'')
    taken = samples.Samples.__new__(samples.Samples)
    taken.ended, taken.begin, taken.series = [], 0, {('server', 'fds'): [40]}
    assert taken.findings() == ['no reader has opened the kstats']


def a_fuzzer_that_does_not_end_is_a_finding():
    with tempfile.TemporaryDirectory() as name:
        bench = piece.Bench(1, 1, pathlib.Path(name), pathlib.Path(name), pathlib.Path(name), 1)
        with mock.patch.object(fuzz, 'run', side_effect=Failure('not done')):
            fuzzer = min(path.name for path in (piece.TOP / 'tests/fuzz/corpus').iterdir())
            _, figures, lines = fuzz.fuzz_one(bench, fuzzer, 1)
            assert figures['inputs'] == 0 and 'not done' in lines[0]
            corpus = bench.folder / 'kept'
            corpus.mkdir()
            (corpus / 'input').touch()
            fuzz.minimise([], corpus, corpus, bench.log('merge'))
            assert (corpus / 'input').exists() and not (bench.folder / 'kept.small').exists()


def an_input_is_slow_by_its_own_processor_time():
    with tempfile.TemporaryDirectory() as name, mock.patch.object(fuzz, 'SLOW_SECONDS', 1):
        log = pathlib.Path(name) / 'log'
        assert not fuzz.is_slow(['sleep'], '1.2', log)
        assert fuzz.is_slow(['sh', '-c', 'while :; do :; done'], 'input', log)


def a_test_that_failed_has_no_number():
    bench = types.SimpleNamespace(count=lambda whole, least: whole, log=lambda name: name)
    for good, kills in ((True, 1000), (False, commands.UNKNOWN)):
        with mock.patch.object(commands, 'google_test', return_value=('', good)):
            assert commands.kill_servers(bench).figures == {'kills': kills}


def a_failure_is_told_though_another_test_cannot_run():
    failed = '[  FAILED  ] One', False
    bench = types.SimpleNamespace(count=lambda whole, least: whole, log=lambda name: name, program=str, seconds=60,
                                  build=piece.TOP, folder=piece.TOP)
    with mock.patch.object(commands, 'run_or_skip', return_value=(failed[0] + '\n[  SKIPPED ] Two', False)):
        assert commands.google_test(bench, 'kills', '*')[1] is False
    for runner, pieces in (('google_test', commands.lose_upstreams), ('run_or_skip', commands.fail_power)):
        with mock.patch.object(commands, runner, side_effect=[failed, Skipped('no fio'), Skipped('no fio')]), \
                mock.patch.object(commands, 'need'):
            assert len(pieces(bench).found) == 1


def a_run_that_did_nothing_is_a_finding():
    bench = types.SimpleNamespace(program=str, log=str, count=lambda _of, least: least, build=pathlib.Path('.'))
    with mock.patch.object(commands, 'need'):
        for said, pieces, found in (('', commands.use_ceph, 1), ('ok: a', commands.use_ceph, 0),
                                    ('', commands.watch_page, 1), ('ok      a', commands.watch_page, 0)):
            with mock.patch.object(commands, 'run_or_skip', return_value=(said, True)):
                assert len(pieces(bench).found) == found


def a_program_that_cannot_start_is_a_failure():
    with tempfile.TemporaryDirectory() as name:
        try:
            children.run([pathlib.Path(name) / 'absent'], pathlib.Path(name) / 'log', 1)
            raise AssertionError('an absent program ran')
        except Failure as failure:
            assert 'cannot start' in str(failure)


def a_finding_names_no_folder_of_this_machine():
    line = results.without_folders('see /a/b/build/endurance/kills.log and /a/b/tests/vm/run', '/a/b/build/endurance', '/a/b')
    assert line == 'see kills.log and tests/vm/run'


def a_row_that_was_cut_off_hides_no_other():
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / 'results.jsonl'
        path.write_text('{"piece": "kil')
        results.append(path, {'piece': 'page'})
        assert results.read(path) == [{'piece': 'page'}]


def a_corpus_on_a_full_disk_is_not_whole():
    with tempfile.TemporaryDirectory() as name:
        corpus = pathlib.Path(name)
        assert not fuzz.is_whole(corpus)
        (corpus / 'a9993e364706816aba3e25717850c26c9cd0d89d').write_text('abc')
        assert fuzz.is_whole(corpus)
        (corpus / '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8').touch()
        assert not fuzz.is_whole(corpus)


def a_program_over_its_limit_ends_in_its_own_order():
    with tempfile.TemporaryDirectory() as name:
        log = pathlib.Path(name) / 'log'
        try:
            children.run(['sh', '-c', 'trap "echo cleaned; exit" TERM; echo begun; sleep 60 & wait'], log, 1)
            raise AssertionError('the limit was not kept')
        except Failure:
            assert log.read_text() == 'begun\ncleaned\n'


def a_failure_of_one_simulator_keeps_the_others_lives():
    def run_batch(_bench, seeds, _limit, worker):
        if worker == 0:
            raise Failure('no lives')
        seeds.add(10, 100)
        time.sleep(0.05)
    with mock.patch.object(simulation, 'run_batch', run_batch):
        outcome = simulation.simulate(types.SimpleNamespace(seconds=0.2, jobs=2, earlier=[]))
    assert outcome.found == ['no lives'] and outcome.figures['lives'] >= 10


for test in (flatness_is_the_medians_of_thirds, a_stall_is_the_servers_unless_the_machine_explains_it, p99_must_not_grow,
             a_region_allows_what_was_written, rows_add_up, each_attack_and_each_series_is_there,
             a_fuzzer_that_does_not_end_is_a_finding, an_input_is_slow_by_its_own_processor_time, a_test_that_failed_has_no_number,
             a_failure_is_told_though_another_test_cannot_run, a_run_that_did_nothing_is_a_finding,
             a_program_that_cannot_start_is_a_failure, a_finding_names_no_folder_of_this_machine, a_row_that_was_cut_off_hides_no_other,
             the_rows_of_two_machines_are_together_and_each_once, a_corpus_on_a_full_disk_is_not_whole,
             a_program_over_its_limit_ends_in_its_own_order, a_failure_of_one_simulator_keeps_the_others_lives):
    test()
    print(f'ok: {test.__name__}')
