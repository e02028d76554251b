package wfstudio

import "testing"

func TestEventsAreFoundAmongOtherFrames(t *testing.T) {
	stream := &Stream{rest: []byte("retry: 2000\n\nid: 7\nevent: token\ndata: {\"delta\":\"a\"}\n\n: heartbeat\n\nid: L8\nevent: done\ndata: {}\n\n")}
	var found []Event
	for event, is := stream.told(); is; event, is = stream.told() {
		// What is written behind one event is not written into the next.
		_ = append(event.Data, "\n\nid: 9\nevent: error"...)
		found = append(found, event)
	}
	if len(found) != 2 || found[0].ID != "7" || found[0].Name != EventToken || string(found[0].Data) != `{"delta":"a"}` {
		t.Fatal(eventsText(found))
	}
	if found[1].ID != "L8" || found[1].Name != EventDone || string(found[1].Data) != "{}" || len(stream.rest) != 0 {
		t.Fatal(eventsText(found))
	}
}
