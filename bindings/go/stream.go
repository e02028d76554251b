package wfstudio

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Run is what to run: a workflow, or an agent's turn in a chat.
type Run struct {
	Workflow string         // id or slug
	Agent    string         // instead of a workflow
	Message  any            // text, or parts
	State    map[string]any // variables of the workflow
	Tenant   string
	User     any            // an object with an id
	With     map[string]any // more members of the request, as `on_disconnect` or `thread_id`
}

func (r Run) request() map[string]any {
	request := map[string]any{}
	for name, value := range map[string]string{"workflow": r.Workflow, "agent": r.Agent, "tenant": r.Tenant} {
		if value != "" {
			request[name] = value
		}
	}
	if r.Message != nil {
		request["message"] = r.Message
	}
	if r.State != nil {
		request["state"] = r.State
	}
	if r.User != nil {
		request["user"] = r.User
	}
	maps.Copy(request, r.With)
	return request
}

// Event is one event of a run.
type Event struct {
	ID   string          // where a reader goes on that was cut off
	Name string          // such as "trace_completed"
	Data json.RawMessage // shares memory with the events that came with it, at most 64 KiB or one event: bytes.Clone what you keep for long
}

// Run starts a run and gives its events. Leaving the loop, or the end of the context, closes the stream: the run goes on, unless
// With has "on_disconnect": "cancel". An error is the last thing that comes.
func (s *Studio) Run(ctx context.Context, run Run) iter.Seq2[Event, error] {
	return s.events(ctx, func() (*Stream, error) { return s.Start(run) })
}

// Resume answers a pause (`approval`, `message`, `pause_id`, `decisions`) and gives the events that follow.
func (s *Studio) Resume(ctx context.Context, traceID string, answer map[string]any) iter.Seq2[Event, error] {
	return s.events(ctx, func() (*Stream, error) { return s.StartResume(traceID, answer) })
}

// Start starts a run as a stream that can be cancelled; close it.
func (s *Studio) Start(run Run) (*Stream, error) { return s.begin(doRun, run.request(), nil) }

// StartResume is Resume as a stream that can be cancelled; close it.
func (s *Studio) StartResume(traceID string, answer map[string]any) (*Stream, error) {
	request := map[string]any{"trace_id": traceID}
	maps.Copy(request, answer)
	return s.begin(doResume, request, nil)
}

func (s *Studio) events(ctx context.Context, open func() (*Stream, error)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		stream, err := open()
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer stream.Close()
		for event, err := range stream.Events(ctx) {
			if !yield(event, err) {
				return
			}
		}
	}
}

// Stream is an answer that still comes. One goroutine reads it; Cancel and Close may be called from any.
type Stream struct {
	studio  *Studio
	handle  uint64
	news    chan struct{}
	idle    func() // before it is waited; may be nil
	rest    []byte // read, and not told yet
	closing sync.Once
}

// Events gives what is still to come. Another loop may go on where one was left.
func (t *Stream) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			for event, is := t.told(); is; event, is = t.told() {
				if !yield(event, nil) {
					return
				}
			}
			code, batch, err := t.next(ctx)
			if err != nil {
				yield(Event{}, err)
				return
			}
			if code == codeEnd {
				return
			}
			if code == codeOk { // else the head: there is none that events need
				t.rest = batch // whole events, and all before it were told
			}
		}
	}
}

var newline, idField, eventField, dataField = []byte("\n"), []byte("id: "), []byte("event: "), []byte("data: ")

// told cuts the next event off, three lines; other lines are comments, or said to browsers only.
func (t *Stream) told() (event Event, is bool) {
	for !is && len(t.rest) > 0 {
		var id, name, data []byte
		id, t.rest, _ = bytes.Cut(t.rest, newline)
		if id, is = bytes.CutPrefix(id, idField); is {
			name, t.rest, _ = bytes.Cut(t.rest, newline)
			data, t.rest, _ = bytes.Cut(t.rest, newline)
			event = Event{string(id), string(bytes.TrimPrefix(name, eventField)), slices.Clip(bytes.TrimPrefix(data, dataField))}
		}
	}
	return event, is
}

// Cancel cancels the run; the stream goes on and tells its end.
func (t *Stream) Cancel() error {
	if code := t.studio.library.streamCancel(t.handle); code != codeOk {
		return failed(code, nil)
	}
	return nil
}

// Close stops listening. It may be called at any time and more than once.
func (t *Stream) Close() {
	t.closing.Do(func() {
		t.studio.mutex.Lock()
		delete(t.studio.streams, t.handle)
		t.studio.mutex.Unlock()
		t.studio.library.streamClose(t.handle)
		t.ring()
	})
}

func (t *Stream) ring() {
	select {
	case t.news <- struct{}{}:
	default: // it is told already
	}
}

// next waits for what comes next. The stream is asked before it is waited for: what came earlier is announced no second time.
func (t *Stream) next(ctx context.Context) (int32, []byte, error) {
	for ended := false; ; {
		if code, bytes, err := t.pull(); code != codeTimeout {
			return code, bytes, err
		}
		if ended {
			return 0, nil, failed(int32(CodeClosed), []byte(`{"code":"closed","detail":"the engine was closed"}`))
		}
		if t.idle != nil {
			t.idle()
		}
		select {
		case <-t.news:
		case <-ctx.Done():
			t.Close()
			return 0, nil, context.Cause(ctx)
		case <-t.studio.done:
			ended = true
		}
	}
}

// pull takes what is there.
func (t *Stream) pull() (int32, []byte, error) {
	var out buffer
	code := t.studio.library.streamNextBatch(t.handle, 0, 0, &out)
	bytes := t.studio.library.take(&out)
	if code < 0 {
		return code, nil, failed(code, bytes)
	}
	return code, bytes, nil
}
