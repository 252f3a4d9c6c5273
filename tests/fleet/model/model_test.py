"""The models of the fleet's protocol: every rule is needed, and with all of them nothing is broken
as far as a few seconds reach; `owner_model.py` by hand searches all states."""

import unittest

import home_model
import owner_model
from search import search

STATES = 10_000  # a few seconds
# The beginnings of traces that are long to find; `owner_model.py` finds them from the start.
BEGUN = {
    'seal': (
        'p1 forwards f1 to B',
        'p2 forwards f2 to C',
        'B takes f1',
        'B commits admission (rB0)',
        'B: lease is good',
        'B writes rB0: run 1',
        'device answers run 1 to B',
        'B: lease lapses (paused or cut off)',
        'B is fenced',
        'the device moves to C',
    ),
    'lock': (
        'p1 forwards f1 to B',
        'p2 forwards f2 to C',
        'B takes f1',
        'B commits admission (rB0)',
        'B: lease lapses (paused or cut off)',
        'B is fenced',
        'the device moves to C',
        'C takes f2',
        'C asks the same instance again, same id rB0',
    ),
    'once': (
        'p1 forwards f1 to B',
        'p2 forwards f2 to C',
        'B takes f1',
        'B commits admission (rB0)',
        'B: lease is good',
        'B writes rB0: run 1',
        'device answers run 1 to B',
        'B: lease lapses (paused or cut off)',
        'B is fenced',
        'the device moves to C',
        'C takes f2',
        'C asks the same instance again, same id rB0',
        'the device moves back to B',
    ),
    'fence': (
        'p1 forwards f1 to B',
        'p2 forwards f2 to C',
        'B takes f1',
        'B commits admission (rB0)',
        'the device moves to C',
        'C takes f2',
        'C asks the same instance again, same id rB0',
        'C writes rB0: run 1',
        'device answers run 1 to C',
    ),
    'own': (
        'p1 forwards f1 to B',
        'p2 forwards f2 to C',
        'B takes f1',
        'B commits admission (rB0)',
        'B: lease is good',
        'B writes rB0: run 1',
        'B: lease lapses (paused or cut off)',
        'B is fenced',
        'the device moves to C',
        'C takes f2',
        'C asks the same instance again, same id rB0',
    ),
    'kept': (
        'p1 forwards f1 to B',
        'p2 forwards f2 to C',
        'B takes f1',
        'B commits admission (rB0)',
        'B: lease is good',
        'B writes rB0: run 1',
        'device answers run 1 to B',
    ),
}


class OwnerModelTest(unittest.TestCase):
    def test_with_all_rules_no_state_is_broken(self) -> None:
        for rules, idempotent, resume in owner_model.SOUND:
            with self.subTest(idempotent=idempotent, resume=resume):
                found = owner_model.check(rules, idempotent, resume, most_states=STATES)
                self.assertEqual(found.faults, {}, found.text())
                self.assertGreater(found.states, STATES)

    def test_without_any_one_rule_a_fault_is_found(self) -> None:
        left_out = set()
        for rules, idempotent, resume in owner_model.UNSOUND:
            missing = owner_model.RULES - rules
            with self.subTest(missing=missing):
                begun = BEGUN.get(''.join(missing), ())
                found = owner_model.check(rules, idempotent, resume, begun, until_a_fault=True)
                self.assertNotEqual(found.faults, {})
            left_out |= missing
        self.assertEqual(left_out, owner_model.RULES - {'inc'})


class HomeModelTest(unittest.TestCase):
    def test_a_retry_under_an_earlier_incarnation_runs_twice(self) -> None:
        rules = home_model.RULES - {'inc'}
        self.assertNotEqual(home_model.check(rules, False, until_a_fault=True).faults, {})

    def test_the_form_that_was_given_up_runs_twice_or_gives_two_results(self) -> None:
        for run in home_model.UNSOUND:
            with self.subTest(rules=run[0], idempotent=run[1]):
                self.assertNotEqual(home_model.check(*run, until_a_fault=True).faults, {})


class SearchTest(unittest.TestCase):
    def test_a_trace_is_a_shortest_one(self) -> None:
        found = search(
            0,
            lambda n: [('add one', n + 1), ('double', 2 * n)],
            lambda n: 'ten' if n == 10 else None,
            most_states=1_000,
            until_a_fault=True,
        )
        self.assertEqual(len(found.faults['ten']), 5)

    def test_a_search_that_is_cut_says_so(self) -> None:
        self.assertFalse(search(0, lambda n: [('', n + 1)], lambda n: None, 100).complete)
        whole = search(0, lambda n: [('', (n + 1) % 7)], lambda n: None)
        self.assertEqual((whole.complete, whole.states), (True, 7))


if __name__ == '__main__':
    unittest.main()
