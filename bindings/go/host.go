package wfstudio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"
)

const longest = 10_000 // of the text of a failure

// ErrUnwanted is the cause of a tool's context when its result is no longer wanted.
var ErrUnwanted = errors.New("studio: the result of this call is no longer wanted")

// HostCall is a call of the engine to the application.
type HostCall struct {
	Op      string
	Payload json.RawMessage
	id      uint64
	studio  *Studio
}

// Chunk tells a part of the answer with more to follow, as a model of the application does while it writes.
func (c *HostCall) Chunk(part any) error {
	text, err := json.Marshal(part)
	if err != nil {
		return err
	}
	return c.complete(2, text)
}

func (c *HostCall) complete(ok int32, text []byte) error {
	if code := c.studio.library.hostComplete(c.studio.engine, c.id, ok, start(text), uintptr(len(text))); code != codeOk {
		return failed(code, nil)
	}
	return nil
}

// Answer is a function that answers calls. An error or a panic is a failure of the call; its text is shown.
type Answer func(ctx context.Context, call *HostCall) (any, error)

type callKey struct{}

// CallOf gives the call that a tool answers, from the tool's context: its payload has tenant, user, ids and the idempotency key.
func CallOf(ctx context.Context) *HostCall {
	call, _ := ctx.Value(callKey{}).(*HostCall)
	return call
}

// host answers the engine's calls, a goroutine each.
type host struct {
	studio *Studio
	alive  context.Context
	stop   context.CancelCauseFunc

	mutex   sync.Mutex
	ops     []string
	answers map[string]Answer // by op; a tool by its op and name
	tools   []declaration
	running map[uint64]context.CancelCauseFunc
}

func (h *host) open(s *Studio) {
	h.studio, h.answers, h.running = s, map[string]Answer{}, map[uint64]context.CancelCauseFunc{}
	h.alive, h.stop = context.WithCancelCause(context.Background())
}

func (h *host) end() { h.stop(ErrUnwanted) }

// Answer declares that the application answers an op, such as HostGate or HostSecretGet.
func (s *Studio) Answer(op string, answer Answer) error {
	h := &s.host
	return h.change(func() {
		if h.answers[op] == nil {
			h.ops = append(h.ops, op)
		}
		h.answers[op] = answer
	})
}

// change has the engine told what changed. What it refuses is taken back: the engine still has what was declared before.
func (h *host) change(made func()) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	ops, tools, answers := h.ops, h.tools, maps.Clone(h.answers)
	made()
	err := h.declare()
	if err != nil {
		h.ops, h.tools, h.answers = ops, tools, answers
	}
	return err
}

// declare tells the engine all that is answered; the lock is held.
func (h *host) declare() error {
	ops := h.ops
	if len(h.tools) > 0 {
		ops = append([]string{HostToolCall}, ops...)
	}
	text, err := json.Marshal(map[string]any{"ops": ops, "tools": append([]declaration{}, h.tools...)}) // a list, also when it is empty
	if err != nil {
		return fmt.Errorf("studio: declaration: %w", err)
	}
	if code := h.studio.library.hostSet(h.studio.engine, start(text), uintptr(len(text)), 0, 0, 0); code != codeOk {
		return failed(code, nil)
	}
	return nil
}

// fetch takes all calls that wait.
func (h *host) fetch() {
	for {
		var out buffer
		code := h.studio.library.hostNext(h.studio.engine, 0, &out)
		bytes := h.studio.library.take(&out)
		if code != codeOk && code != codeHostCall {
			return
		}
		var told struct {
			Op      string          `json:"op"`
			CallID  uint64          `json:"call_id"`
			Payload json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(bytes, &told) != nil {
			continue
		}
		h.take(&HostCall{Op: told.Op, Payload: told.Payload, id: told.CallID, studio: h.studio})
	}
}

// take finds who answers a call. Cancels are obeyed here, in the order in which the engine told them.
func (h *host) take(call *HostCall) {
	var told struct {
		Name      string `json:"name"`
		Cancels   uint64 `json:"cancels"`
		TimeoutMs int64  `json:"timeout_ms"`
	}
	_ = json.Unmarshal(call.Payload, &told)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if call.Op == HostToolCancel {
		if cancel := h.running[told.Cancels]; cancel != nil {
			cancel(ErrUnwanted)
		}
	}
	key := call.Op
	if key == HostToolCall {
		key = toolKey(told.Name)
	}
	answer := h.answers[key]
	if answer == nil {
		return
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(h.alive, callKey{}, call))
	release := context.CancelFunc(func() {})
	if told.TimeoutMs > 0 {
		ctx, release = context.WithTimeout(ctx, time.Duration(told.TimeoutMs)*time.Millisecond)
	}
	h.running[call.id] = cancel
	go func() {
		finished := false
		defer func() {
			if !finished { // runtime.Goexit, as FailNow of a test calls it
				_ = call.complete(0, []byte(`{"message":"the function ended its goroutine"}`))
			}
			release()
			cancel(nil)
			h.mutex.Lock()
			delete(h.running, call.id)
			h.mutex.Unlock()
		}()
		call.finish(ctx, answer)
		finished = true
	}()
}

// finish answers a call with what the function gives; an answer that nobody waits for any more is let go.
func (c *HostCall) finish(ctx context.Context, answer Answer) {
	failure := struct {
		Message string `json:"message"`
		Ran     bool   `json:"ran,omitempty"`
	}{}
	result, err := guarded(ctx, c, answer)
	if err == nil {
		var text []byte
		if text, err = written(result); err == nil {
			if err = c.complete(1, text); !errors.Is(err, CodeInvalid) {
				return
			}
			err = errors.New("the engine does not read it")
		}
		if failure.Ran = c.Op == HostToolCall; failure.Ran {
			// A tool that ran must not look like one that failed: whoever reads that calls it again.
			err = fmt.Errorf("the tool ran, but its result could not be written as JSON (%w): return finite numbers, texts, slices, maps and structs, at most 16 MiB", err)
		}
	}
	failure.Message = err.Error()
	failure.Message = failure.Message[:min(len(failure.Message), longest)] // the engine reads no more than 16 MiB
	text, _ := json.Marshal(failure)
	_ = c.complete(0, text)
}

func guarded(ctx context.Context, call *HostCall, answer Answer) (result any, err error) {
	defer recovered(&err)
	if ctx.Err() != nil { // nobody wants the result any more: nothing is begun
		return nil, context.Cause(ctx)
	}
	return answer(ctx, call)
}

func written(result any) (text []byte, err error) {
	defer recovered(&err)
	return json.Marshal(result)
}

func recovered(err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("panic: %v", panicked)
	}
}
