package wfstudio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

type object = map[string]any

func open_(t testing.TB, name string) *Studio {
	t.Helper()
	config := Config{"environment": "local", "default_provider": "script", "default_model": "echo", "database": object{"path": filepath.Join(t.TempDir(), name)}}
	s, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		limit, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		if err := s.Shutdown(limit); err != nil {
			t.Error(err)
		}
	})
	return s
}

func at(id, kind string, data object) object {
	return object{"id": id, "type": kind, "position": object{"x": 0, "y": 0}, "data": data}
}

// save makes a workflow of one node between start and stop.
func save(t testing.TB, s *Studio, slug, kind string, data object) {
	t.Helper()
	edge := func(id, from, to string) object {
		return object{"id": id, "source": from, "target": to, "sourceHandle": "default", "targetHandle": "default"}
	}
	data["output_key"] = "said"
	graph := object{"version": 1,
		"nodes": []object{at("start", "start", object{}), at("it", kind, data), at("stop", "stop", object{"reply": "{{said}}"})},
		"edges": []object{edge("a", "start", "it"), edge("b", "it", "stop")}}
	if _, err := s.Call(context.Background(), OpWorkflowSave, object{"slug": slug, "name": slug, "graph": graph}); err != nil {
		t.Fatal(err)
	}
}

func echo(t testing.TB, s *Studio) {
	save(t, s, "echo", "llm", object{"provider": "script", "model": "echo", "prompt": "{{input}}", "stream": true})
}

func ask(t testing.TB, s *Studio) { save(t, s, "ask", "human", object{"prompt": "Well?"}) }

// events reads a run to its end.
func events(t testing.TB, s *Studio, workflow string) []Event {
	t.Helper()
	var found []Event
	for event, err := range s.Run(context.Background(), Run{Workflow: workflow, Message: "hi"}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, event)
	}
	return found
}

func named(events []Event, name string) *Event {
	for i := range events {
		if events[i].Name == name {
			return &events[i]
		}
	}
	return nil
}

func TestARunGivesItsEvents(t *testing.T) {
	s := open_(t, "run.sqlite")
	echo(t, s)
	found := events(t, s, "echo")
	if found[0].Name != EventThread || found[0].ID == "" || named(found, EventTraceCompleted) == nil {
		t.Fatal(eventsText(found))
	}
	for _, event := range found {
		if !json.Valid(event.Data) {
			t.Errorf("%s has %q", event.Name, event.Data)
		}
	}
}

func TestAPauseIsAnswered(t *testing.T) {
	s := open_(t, "pause.sqlite")
	ask(t, s)
	asked := named(events(t, s, "ask"), EventHumanInputRequired)
	var told struct {
		TraceID string `json:"trace_id"`
	}
	if asked == nil || json.Unmarshal(asked.Data, &told) != nil {
		t.Fatal(asked)
	}
	var last string
	for event, err := range s.Resume(context.Background(), told.TraceID, object{"message": "yes"}) {
		if err != nil {
			t.Fatal(err)
		}
		last = event.Name
	}
	if last != EventTraceCompleted {
		t.Fatal(last)
	}
}

func TestErrorsHaveCodeStatusAndProblem(t *testing.T) {
	s := open_(t, "errors.sqlite")
	_, err := s.Call(context.Background(), OpTraceGet, object{"trace_id": "00000000-0000-7000-8000-000000000000"})
	var failure *Error
	if !errors.As(err, &failure) || !errors.Is(err, CodeNotFound) || failure.Name != "not_found" || failure.Detail == "" || !json.Valid(failure.Problem) {
		t.Fatalf("%#v", err)
	}
	if _, err := s.Call(context.Background(), "no.such", nil); !errors.Is(err, CodeNotFound) && !errors.Is(err, CodeInvalid) {
		t.Fatal(err)
	}
	if _, err := s.Call(context.Background(), OpHealth, object{"odd": func() {}}); err == nil {
		t.Fatal("a function has no JSON")
	}
	for event, err := range s.Run(context.Background(), Run{Workflow: "none", Message: "hi"}) {
		if !errors.Is(err, CodeNotFound) {
			t.Fatal(event, err)
		}
	}
	if _, err := Open(Config{"database": 7}); !errors.Is(err, CodeInvalid) {
		t.Fatal(err)
	}
}

type refundOrder struct {
	OrderID string       `json:"order_id" description:"Which one"`
	Amount  float64      `json:"amount"`
	Kind    string       `json:"kind,omitempty" enum:"whole,part"`
	Lines   []int        `json:"lines,omitempty"`
	Inner   *refundOrder `json:"inner"`
}

func TestAToolIsAFunctionWithASchemaOfItsStruct(t *testing.T) {
	s := open_(t, "tool.sqlite")
	err := Tool(s, "refund", func(ctx context.Context, in refundOrder) (object, error) {
		if in.Amount > 100 {
			return nil, errors.New("the till is empty")
		}
		if in.Amount < 0 {
			panic("boom")
		}
		payload := string(CallOf(ctx).Payload)
		return object{"refunded": in.Amount, "named": strings.Contains(payload, `"refund"`)}, nil
	}, Description("Pays back"), Timeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	schema, _ := json.Marshal(s.host.tools[0])
	const wanted = `{"name":"refund","description":"Pays back","input_schema":{"properties":{"amount":{"type":"number"},"inner":{},"kind":{"enum":["whole","part"],"type":"string"},"lines":{"items":{"type":"integer"},"type":"array"},"order_id":{"description":"Which one","type":"string"}},"required":["order_id","amount"],"type":"object"},"timeout_ms":1000}`
	if string(schema) != wanted {
		t.Fatalf("%s", schema)
	}
	for amount, wanted := range map[string]string{"25": "refunded", "250": "the till is empty", "-1": "boom", `"x"`: "arguments of refund"} {
		save(t, s, "pay", "tool", object{"tool_ref": "host:refund", "parameters": object{"order_id": "A", "amount": json.RawMessage(amount)}})
		told := fmt.Sprint(eventsText(events(t, s, "pay")))
		if !strings.Contains(told, wanted) && !(amount == `"x"` && strings.Contains(told, "amount")) {
			t.Errorf("%s: %s", amount, told)
		}
	}
}

func eventsText(events []Event) (text string) {
	for _, event := range events {
		text += event.Name + " " + string(event.Data) + "\n"
	}
	return text
}

type named_ struct {
	Code string `json:"code"`
}
type hidden struct {
	Secret string `json:"secret"`
}
type Plain struct {
	Note string `json:"note,omitempty"`
}
type Label string
type unusual struct {
	named_ `json:"-"`
	hidden `json:"-"`
	Plain
	Label
	Named  named_      `json:"named"`
	Level  int         `json:"level" enum:"1,2"`
	Kinds  []string    `json:"kinds" enum:"x,y"`
	Addr   netip.Addr  `json:"addr"`
	Sum    [2]byte     `json:"sum"`
	Count  int         `json:"count,string"`
	Whole  Plain       `json:"whole,string"` // of an object the option says nothing
	Big    *big.Int    `json:"big"`
	Number json.Number `json:"number"`
}
type shown struct {
	Plain `json:"plain"`
}

// What encoding/json writes of a struct is what the schema of a tool takes, and what the tool gets again.
func TestAnUnusualStructIsATool(t *testing.T) {
	s := open_(t, "unusual.sqlite")
	calls := 0
	given := unusual{Label: "l", Level: 2, Kinds: []string{"y"}, Addr: netip.MustParseAddr("1.2.3.4"), Sum: [2]byte{1, 2}, Count: 7, Big: big.NewInt(5), Number: "1.5"}
	_ = Tool(s, "unusual", func(_ context.Context, in unusual) (string, error) {
		calls++
		if !reflect.DeepEqual(in, given) {
			return "", fmt.Errorf("got %+v", in)
		}
		return "fine", nil
	})
	_ = Tool(s, "shown", func(_ context.Context, in shown) (string, error) { calls++; return in.Plain.Note, nil })
	for name, arguments := range map[string]any{"unusual": given, "shown": shown{}} {
		text, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		save(t, s, name, "tool", object{"tool_ref": "host:" + name, "parameters": json.RawMessage(text)})
		if found := events(t, s, name); named(found, EventTraceCompleted) == nil {
			t.Errorf("%s: %s", text, eventsText(found))
		}
	}
	if calls != 2 {
		t.Fatal(calls)
	}
	text, _ := json.Marshal(schemaOf(reflect.TypeFor[shown](), nil))
	if string(text) != `{"properties":{"plain":{"properties":{"note":{"type":"string"}},"type":"object"}},"required":["plain"],"type":"object"}` {
		t.Fatalf("%s", text)
	}
	save(t, s, "wrong", "tool", object{"tool_ref": "host:unusual", "parameters": object{"level": 3}})
	if found := eventsText(events(t, s, "wrong")); !strings.Contains(found, "/level: 3 is not one of 1 or 2") {
		t.Error(found)
	}
}

type defaulted struct {
	Amount float64  `json:"amount,omitempty"`
	Big    *big.Int `json:"big,omitempty"`
}

func (d *defaulted) UnmarshalJSON(text []byte) error {
	type plain defaulted
	d.Amount = 5
	return json.Unmarshal(text, (*plain)(d))
}

func TestArgumentsThatReadThemselvesKeepTheirSchema(t *testing.T) {
	text, _ := json.Marshal(schemaOf(reflect.TypeFor[defaulted](), nil))
	if string(text) != `{"properties":{"amount":{"type":"number"},"big":{}},"type":"object"}` {
		t.Fatalf("%s", text)
	}
}

type spoken struct {
	Order string `json:"order"`
}

func (s *spoken) UnmarshalText(text []byte) error { s.Order = string(text); return nil }

func (s *spoken) UnmarshalJSON(text []byte) error {
	type plain spoken
	return json.Unmarshal(text, (*plain)(s))
}

func TestArgumentsThatAreATextTooAreAnObject(t *testing.T) {
	text, _ := json.Marshal(schemaOf(reflect.TypeFor[spoken](), nil))
	if string(text) != `{"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"}` {
		t.Fatalf("%s", text)
	}
}

// FailNow of a test does it, in a function that the test gives as a tool.
func TestAToolThatEndsItsGoroutineFails(t *testing.T) {
	s := open_(t, "goexit.sqlite")
	_ = Tool(s, "quits", func(context.Context, object) (any, error) { runtime.Goexit(); return nil, nil }, Timeout(20*time.Second))
	save(t, s, "quits", "tool", object{"tool_ref": "host:quits"})
	began := time.Now()
	if found := eventsText(events(t, s, "quits")); !strings.Contains(found, "ended its goroutine") || time.Since(began) > 15*time.Second {
		t.Fatal(time.Since(began), found)
	}
}

func TestADeadlineThatIsFarIsNotNear(t *testing.T) {
	var told uint32
	s := &Studio{library: &library{engineClose: func(_ uint64, ms uint32) int32 { told = ms; return codeOk }}, done: make(chan struct{})}
	s.host.open(s)
	ctx, stop := context.WithTimeout(context.Background(), (1<<32+1000)*time.Millisecond)
	defer stop()
	if err := s.Shutdown(ctx); err != nil || told < 1<<31 {
		t.Fatal(err, told)
	}
}

func TestACancelEndsTheContextOfATool(t *testing.T) {
	s := open_(t, "cancel.sqlite")
	begun, ended := make(chan struct{}), make(chan error, 1)
	err := Tool(s, "slow", func(ctx context.Context, _ object) (any, error) {
		close(begun)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	save(t, s, "slow", "tool", object{"tool_ref": "host:slow"})
	stream, err := s.Start(Run{Workflow: "slow", Message: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	go func() {
		<-begun
		_ = stream.Cancel()
	}()
	var last string
	for event, err := range stream.Events(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		last = event.Name
	}
	if cause := <-ended; last != EventTraceCancelled || !errors.Is(cause, ErrUnwanted) {
		t.Fatal(last, cause)
	}
}

func TestACallThatNobodyWantsIsNotBegun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrUnwanted)
	ran := false
	_, err := guarded(ctx, &HostCall{}, func(context.Context, *HostCall) (any, error) { ran = true; return nil, nil })
	if ran || !errors.Is(err, ErrUnwanted) {
		t.Fatal(ran, err)
	}
}

type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { panic("no JSON of this") }

func TestAToolThatRanIsNotToldAsOneThatFailed(t *testing.T) {
	answered := func(op string, refuses bool, answer Answer) (ok int32, told struct {
		Message string
		Ran     bool
	}) {
		complete := func(_, _ uint64, kind int32, data *byte, size uintptr) int32 {
			if kind == 1 && refuses {
				return int32(CodeInvalid)
			}
			ok = kind
			if err := json.Unmarshal(unsafe.Slice(data, size), &told); err != nil && kind == 0 {
				t.Fatal(err)
			}
			return codeOk
		}
		call := &HostCall{Op: op, studio: &Studio{library: &library{hostComplete: complete}}}
		call.finish(context.Background(), answer)
		return ok, told
	}
	gives := func(result any) Answer {
		return func(context.Context, *HostCall) (any, error) { return result, nil }
	}
	for why, result := range map[string]any{"NaN": math.NaN(), "chan int": make(chan int), "no JSON of this": unwritable{}, "does not read it": "x"} {
		ok, told := answered(HostToolCall, why == "does not read it", gives(result))
		if ok != 0 || !told.Ran || !strings.HasPrefix(told.Message, "the tool ran, but its result could not be written as JSON (") || !strings.Contains(told.Message, why) {
			t.Errorf("%s: %d %v", why, ok, told)
		}
		if ok, told := answered(HostGate, why == "does not read it", gives(result)); ok != 0 || told.Ran {
			t.Errorf("gate, %s: %d %v", why, ok, told)
		}
	}
	fails := func(context.Context, *HostCall) (any, error) { return nil, errors.New("the till is empty") }
	if ok, told := answered(HostToolCall, false, fails); ok != 0 || told.Ran || told.Message != "the till is empty" {
		t.Errorf("%d %v", ok, told)
	}
}

func TestTheEndOfAContextEndsTheLoop(t *testing.T) {
	s := open_(t, "context.sqlite")
	block := make(chan struct{})
	_ = Tool(s, "slow", func(context.Context, object) (any, error) { <-block; return 1, nil })
	defer close(block)
	save(t, s, "slow", "tool", object{"tool_ref": "host:slow"})
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	var last error
	for _, err := range s.Run(ctx, Run{Workflow: "slow", Message: "hi"}) {
		last = err
	}
	if !errors.Is(last, context.DeadlineExceeded) {
		t.Fatal(last)
	}
	if len(s.streams) != 0 {
		t.Fatal("the stream is still known")
	}
}

// threads counts the threads of this process.
func threads(t testing.TB) int {
	found, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip("only Linux counts threads this way")
	}
	return len(found)
}

func TestWaitingRunsHoldNoThreads(t *testing.T) {
	s := open_(t, "threads.sqlite")
	release := make(chan struct{})
	_ = Tool(s, "slow", func(context.Context, object) (any, error) { <-release; return "done", nil }, Timeout(time.Minute))
	save(t, s, "slow", "tool", object{"tool_ref": "host:slow"})
	echo(t, s)
	events(t, s, "echo") // the library's own threads are there after its first run
	before := threads(t)
	const many = 300
	// A call that begins a run blocks a thread for a moment; four at once, so that what is counted are runs that wait.
	beginning := make(chan struct{}, 4)
	var started, ended sync.WaitGroup
	for range many {
		started.Add(1)
		ended.Add(1)
		beginning <- struct{}{}
		go func() {
			defer ended.Done()
			once := sync.OnceFunc(func() { <-beginning; started.Done() })
			for event, err := range s.Run(context.Background(), Run{Workflow: "slow", Message: "hi"}) {
				if err != nil {
					t.Error(err)
				}
				_ = event
				once()
			}
			once()
		}()
	}
	started.Wait()
	if more := threads(t) - before; more > 20 {
		t.Errorf("%d waiting runs made %d more threads", many, more)
	}
	answer := time.Now()
	if _, err := s.Call(context.Background(), OpHealth, nil); err != nil {
		t.Error(err)
	}
	t.Logf("%d more threads over %d; a call took %v meanwhile", threads(t)-before, before, time.Since(answer))
	close(release)
	ended.Wait()
}

func TestClosingIsSafeAtAnyMoment(t *testing.T) {
	s := open_(t, "close.sqlite")
	_ = Tool(s, "slow", func(ctx context.Context, _ object) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
	save(t, s, "slow", "tool", object{"tool_ref": "host:slow"})
	for i := range 50 {
		stream, err := s.Start(Run{Workflow: "slow", Message: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error)
		go func() {
			var last error
			for _, err := range stream.Events(context.Background()) {
				last = err
			}
			read <- last
		}()
		time.Sleep(time.Duration(i) * 100 * time.Microsecond)
		stream.Close()
		stream.Close()
		if err := <-read; !errors.Is(err, CodeClosed) {
			t.Fatal(err)
		}
		for _, err := range stream.Events(context.Background()) {
			if !errors.Is(err, CodeClosed) && !errors.Is(err, CodeBadHandle) {
				t.Fatal(err)
			}
		}
	}
	var readers sync.WaitGroup
	for range 20 {
		stream, err := s.Start(Run{Workflow: "slow", Message: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		readers.Add(1)
		go func() {
			defer readers.Done()
			for range stream.Events(context.Background()) {
			}
		}()
	}
	limit, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	var closers sync.WaitGroup
	for range 3 {
		closers.Add(1)
		go func() { defer closers.Done(); _ = s.Shutdown(limit) }()
	}
	closers.Wait()
	readers.Wait()
	if _, err := s.Call(context.Background(), OpHealth, nil); !errors.Is(err, CodeClosed) {
		t.Fatal(err)
	}
}

// A process ends while a stream is open and a call is in flight: by a return of main, an exit, a signal, a panic.
func TestAProcessEndsInTime(t *testing.T) {
	if os.Getenv("WFSTUDIO_TEST_EXIT") != "" {
		exiting(t, os.Getenv("WFSTUDIO_TEST_EXIT"))
		return
	}
	for _, how := range []string{"close", "exit", "signal", "panic"} {
		for range 3 {
			limit, stop := context.WithTimeout(context.Background(), 20*time.Second)
			command := exec.CommandContext(limit, os.Args[0], "-test.run", "^TestAProcessEndsInTime$")
			command.Env = append(os.Environ(), "WFSTUDIO_TEST_EXIT="+how, "TMPDIR="+t.TempDir())
			out, err := command.CombinedOutput()
			stop()
			status, _ := command.ProcessState.Sys().(syscall.WaitStatus)
			signal := status.Signaled()
			if how == "signal" {
				signal = signal && status.Signal() != syscall.SIGTERM
			}
			if errors.Is(limit.Err(), context.DeadlineExceeded) || signal || how == "close" && err != nil {
				t.Fatalf("%s: %v: %s", how, err, out)
			}
		}
	}
}

func exiting(t *testing.T, how string) {
	s := open_(t, "exit.sqlite")
	begun := make(chan struct{}, 8)
	_ = Tool(s, "slow", func(ctx context.Context, _ object) (any, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	save(t, s, "slow", "tool", object{"tool_ref": "host:slow"})
	for range 4 {
		go func() {
			for range s.Run(context.Background(), Run{Workflow: "slow", Message: "hi"}) {
			}
		}()
	}
	<-begun
	switch how {
	case "close":
		limit, stop := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer stop()
		_ = s.Shutdown(limit)
		os.Exit(0)
	case "exit":
		os.Exit(0)
	case "signal":
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		select {}
	case "panic":
		go panic("nobody catches this")
		select {}
	}
}

func TestALoopGoesOnWhereAnotherWasLeft(t *testing.T) {
	s := open_(t, "left.sqlite")
	echo(t, s)
	want := len(events(t, s, "echo"))
	stream, err := s.Start(Run{Workflow: "echo", Message: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	time.Sleep(300 * time.Millisecond) // all that is told comes at once
	var found []Event
	for more := true; more; {
		more = false
		for event, err := range stream.Events(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			found, more = append(found, event), true
			break
		}
	}
	if len(found) != want || found[want-1].Name != EventTraceCompleted {
		t.Fatal(eventsText(found))
	}
}

func TestWhatWasRefusedIsNotDeclaredAgain(t *testing.T) {
	s := open_(t, "refused.sqlite")
	if err := s.Answer("gates", func(context.Context, *HostCall) (any, error) { return nil, nil }); err == nil {
		t.Fatal("there is no such call")
	}
	if err := Tool(s, "fine", func(context.Context, struct{}) (string, error) { return "fine", nil }); err != nil {
		t.Fatal(err)
	}
}

func TestAFailureOfManyWordsIsTold(t *testing.T) {
	s := open_(t, "long.sqlite")
	if err := Tool(s, "long", func(context.Context, struct{}) (string, error) { return "", errors.New(strings.Repeat("ü", 9<<20)) }, Timeout(time.Minute)); err != nil {
		t.Fatal(err)
	}
	save(t, s, "long", "tool", object{"tool_ref": "host:long"})
	began := time.Now()
	if found := events(t, s, "long"); named(found, EventTraceFailed) == nil || time.Since(began) > 50*time.Second {
		t.Fatal(time.Since(began), len(eventsText(found)))
	}
}
