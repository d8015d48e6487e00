"""Many questions under one deadline: a server that hangs delays only its own answers."""

import asyncio

import pytest
from structlog.testing import capture_logs

from hypot.policy.model.seen import Failure
from hypot.run.observe.asking import Crowd, Question, TimeLimits

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]
BRIEF = TimeLimits(together=0.3, late=0.05, late_for=600.0, at_once=4)


class Places:
    """Servers that answer with their name, or never. Started questions are kept, in order."""

    def __init__(self, *hung):
        self.hung, self.begun = set(hung), []

    def question(self, place, tenant="a"):
        async def ask():
            self.begun.append(place)
            if place in self.hung:
                await asyncio.Event().wait()
            await asyncio.sleep(0)
            return place

        return Question(tenant, place, f"place {place}", ask)

    async def asked(self, crowd, *names, tenant="a"):
        self.begun.clear()
        return await asked(crowd, [self.question(name, tenant) for name in names])


async def asked(crowd, questions):
    """No round may take forever."""
    async with asyncio.timeout(120):
        return await crowd.ask(questions)


async def test_answers_come_in_order():
    """The order holds for any number of questions and any concurrency; no questions give no answers."""
    names = [str(number) for number in range(50)]
    assert await Places().asked(Crowd(BRIEF), *names) == names
    assert await Crowd(BRIEF).ask([]) == []


async def test_a_server_that_hangs_is_a_failure_that_says_so():
    """The other questions get their answers."""
    one, two, three = await Places("b").asked(Crowd(BRIEF), "a", "b", "c")
    assert (one, three) == ("a", "c")
    assert isinstance(two, Failure)
    assert "place b did not answer within the 0.3 s for all" in two.message


async def test_one_tenant_does_not_take_the_turns_of_the_others():
    """The hanging questions come first, and are more than may run at once."""
    hung = [f"h{number}" for number in range(20)]
    places = Places(*hung)
    questions = [places.question(name, "bad") for name in hung]
    questions += [places.question(f"{tenant}{number}", tenant) for tenant in ("x", "y") for number in range(20)]
    answers = await asked(Crowd(BRIEF), questions)
    assert all(isinstance(answer, Failure) for answer in answers[:20])
    assert answers[20:] == [question.place for question in questions[20:]]
    assert "was not asked: the answers of others took all of the 0.3 s" in answers[19].message


async def test_a_late_server_is_asked_after_the_others():
    """This also holds within one tenant; the late server then gets only the short time."""
    hung = [f"h{number}" for number in range(4)]
    places, crowd = Places(*hung), Crowd(BRIEF)
    first = await places.asked(crowd, *hung, "good")
    assert "was not asked" in first[4].message
    second = await places.asked(crowd, *hung, "good")
    assert second[4] == places.begun[0] == "good"
    assert all("did not answer within 0.05 s, and was late before" in failure.message for failure in second[:4])


async def test_after_a_while_it_gets_the_whole_time_again():
    """It still comes after the others; one answer in time clears the record."""
    places, crowd = Places("b"), Crowd(BRIEF._replace(late_for=0.0))
    await places.asked(crowd, "b")
    failure, _ = await places.asked(crowd, "b", "a")
    assert "did not answer within the 0.3 s" in failure.message
    assert places.begun == ["a", "b"]
    places.hung.clear()
    assert await places.asked(crowd, "b", "a") == ["b", "a"]
    await places.asked(crowd, "b", "a")
    assert places.begun == ["b", "a"]


async def test_a_server_that_is_not_asked_is_forgotten():
    """The record does not grow with addresses that come and go."""
    places, crowd = Places("b", "c"), Crowd(BRIEF)
    await places.asked(crowd, "b")
    await places.asked(crowd, "c")
    assert set(crowd._late) == {"c"}


async def test_an_unexpected_error_stays_with_its_question():
    """The others are answered. It is logged once, until the question succeeds again; its text is not."""
    failing = True

    async def broken():
        if failing:
            raise KeyError("s3cret")
        return "fine"

    async def fine():
        return "fine"

    crowd = Crowd(BRIEF)
    questions = [Question("a", "b", "b", broken), Question("c", "d", "d", fine)]
    with capture_logs() as logged:
        found = [await crowd.ask(questions) for _ in range(2)]
        failing = False
        found.append(await crowd.ask(questions))
        failing = True
        found.append(await crowd.ask(questions))
    failed = Failure("b cannot be asked: KeyError")
    assert found == [[failed, "fine"], [failed, "fine"], ["fine", "fine"], [failed, "fine"]]
    assert [one["event"] for one in logged] == ["cannot ask"] * 2
    assert "s3cret" not in str(logged)
