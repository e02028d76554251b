"""Owns proof of what an event is, whether its JSON was read already or not."""

import copy
import json
import pickle

import pytest

import wfstudio
from wfstudio.events import Frames

BATCH = 'retry: 2000\n\nid: 7\nevent: token\ndata: {"delta":"Grüße \\u2028","n":1}\n\n: heartbeat\n\nid: 8\nevent: done\ndata: {}\n\n'.encode()
DATA = {"delta": "Grüße \u2028", "n": 1}


def first():
    return next(Frames().of(BATCH))


def test_the_events_of_a_batch_come_in_order_and_what_is_cut_off_follows():
    frames = Frames()
    assert list(frames.of(BATCH[:30])) == [] and [event.name for event in frames.of(BATCH[30:])] == ["token", "done"]


@pytest.mark.parametrize("read", [False, True])
def test_an_event_is_a_pair(read):
    def made():
        event = first()
        assert not read or event.data == DATA
        return event

    name, data = made()
    assert (name, data) == ("token", DATA) and made()[0] == "token" and made()[-1] == DATA and len(made()) == 2
    assert made() == first() == ("token", DATA) == made() and made() != ("token", {}) and made() != "token"
    assert json.loads(json.dumps([tuple(made()), made()._asdict()])) == [["token", DATA], {"name": "token", "data": DATA}]
    assert repr(made()) == f"Event(name='token', data={DATA!r})"
    assert pickle.loads(pickle.dumps(made())) == copy.deepcopy(made()) == wfstudio.Event("token", DATA)
    with pytest.raises(TypeError):
        hash(made())
    event = made()
    event.data["more"] = True
    assert event.data["more"]


def test_an_event_that_was_not_read_matches_patterns():
    # Python 3.9 reads no `match`.
    program = 'match event:\n    case ("token", {"delta": delta}): told.append(delta)\nmatch event:\n    case Event("token", {"n": n}): told.append(n)'
    told = []
    try:
        compiled = compile(program, "match", "exec")
    except SyntaxError:
        pytest.skip("this Python has no patterns")
    exec(compiled, {"event": first(), "Event": wfstudio.Event, "told": told})
    assert told == [DATA["delta"], 1]
