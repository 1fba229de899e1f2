"""What reports of a provider do to the estimates after them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.tokens import Calibration, TokenEstimator
from tests.scale import scaled


def after(start: Calibration, *reports: tuple[int, int]) -> Calibration:
    for estimated, reported in reports:
        start = start.after(estimated, reported)
    return start


def test_an_estimate_that_was_too_low_is_corrected_by_the_next() -> None:
    assert 1200 <= 1000 * Calibration().after(1000, 1200).factor <= 1250


def test_a_model_that_needs_twice_the_tokens_is_met_after_two_reports() -> None:
    calibration = after(Calibration(), *[(1000, 2000)] * 2)
    assert 2000 <= 1000 * calibration.factor <= 2100


def test_one_odd_report_moves_the_factor_by_a_bounded_step() -> None:
    assert Calibration().after(1000, 1_000_000).factor == 1.5
    assert after(Calibration(), *[(1000, 1_000_000)] * 20).factor == 3.0


def test_a_factor_that_is_too_high_gives_way_slowly_and_only_when_many_agree() -> None:
    high = Calibration(factor=2.5)
    assert after(high, *[(1000, 1000)] * 8).factor == 2.5
    assert after(high, *[(1000, 1000)] * 13).factor > 2.0
    assert after(high, *[(1000, 1000)] * 80).factor < 1.35


def test_one_report_that_needs_the_factor_keeps_it() -> None:
    row = [*[(1000, 1000)] * 10, (1000, 2000)] * 10
    assert after(Calibration(factor=2.2), *row).factor == 2.2


def test_estimates_that_are_somewhat_high_are_left_alone() -> None:
    assert after(Calibration(), *[(1250, 1000)] * 100) == Calibration()


def test_one_kind_of_text_does_not_lower_the_guard_for_another() -> None:
    assert after(Calibration(), *[(4000, 1000)] * 500).factor == 1.0


def test_small_requests_and_nonsense_teach_nothing() -> None:
    for estimated, reported in ((199, 5000), (5000, 199), (0, 0), (-5, 900), (900, -5), (0, 900)):
        assert Calibration().after(estimated, reported) == Calibration()


reports = st.lists(st.tuples(st.integers(-10, 10**7), st.integers(-10, 10**7)), max_size=60)


@given(reports)
@settings(max_examples=scaled(200))
def test_the_factor_stays_within_its_bounds_whatever_is_reported(
    told: list[tuple[int, int]],
) -> None:
    calibration = after(Calibration(), *told)
    assert 1.0 <= calibration.factor <= 3.0
    stored = Calibration.from_json(calibration.to_json())
    assert abs(stored.factor - calibration.factor) < 1e-6
    assert stored.spared == calibration.spared


@given(st.integers(200, 10**6), st.floats(0.5, 1.4), reports)
@settings(max_examples=scaled(200))
def test_after_a_report_the_same_request_is_not_below_it(
    estimated: int, ratio: float, before: list[tuple[int, int]]
) -> None:
    reported = int(estimated * ratio)
    calibration = after(Calibration(), *before).after(estimated, reported)
    if reported >= 200:
        assert estimated * calibration.factor >= reported * 0.999


def test_what_cannot_be_read_back_is_a_fresh_calibration() -> None:
    for stored in ({}, {"factor": "2"}, {"factor": None}, {"factor": float("nan")}):
        assert Calibration.from_json(stored) == Calibration()
    assert Calibration.from_json({"factor": 99, "spared": -3}) == Calibration(factor=3.0)
    assert Calibration.from_json({"factor": 2, "spared": "x"}) == Calibration(factor=2.0)


def test_a_calibrated_estimator_multiplies_by_the_factor() -> None:
    estimator = TokenEstimator("cl100k")
    text = "Nobody had ever tested whether a restore actually worked. " * 50
    plain = estimator.text(text)
    raised = estimator.calibrated(Calibration(factor=1.5)).text(text)
    assert abs(raised - 1.5 * plain) <= 2
    assert estimator.text(text) == plain
    assert estimator.calibrated(Calibration()).text(text) == plain
