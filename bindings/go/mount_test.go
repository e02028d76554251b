package wfstudio

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// served mounts a studio; X-User and X-Gate say who asks.
func served(t *testing.T, s *Studio) *httptest.Server {
	mux := http.NewServeMux()
	s.Mount(mux, Marks{
		User: func(r *http.Request) any {
			if id := r.Header.Get("X-User"); id != "" {
				return object{"id": id}
			}
			return nil
		},
		Gate: func(r *http.Request) bool { return r.Header.Get("X-Gate") == "open" },
		Head: func(r *http.Request, head map[string]any) {
			switch r.Header.Get("X-Gate") {
			case "":
				delete(head, "gate")
			case "nil":
				head["gate"] = nil
			}
		},
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func send(t *testing.T, server *httptest.Server, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Gate", "open")
	request.Header.Set("X-Requested-With", "test")
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func TestTheMountAnswersAsTheLibraryDoes(t *testing.T) {
	s := open_(t, "mount.sqlite")
	echo(t, s)
	server := served(t, s)
	for _, one := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"GET", "/studio", "", 200, "<html"},
		{"GET", "/studio/api/workflows", "", 200, `"echo"`},
		{"HEAD", "/studio/api/workflows", "", 200, ""},
		{"GET", "/studio/api/workflows/none%2Fsuch%20%C3%BC", "", 404, "not_found"},
		{"POST", "/studio/api/workflows", `{"name":`, 400, "malformed_json"},
		{"POST", "/studio/workflows/echo/run/stream", `{"message":"over the wire"}`, 200, "event: trace_completed"},
		{"GET", "/api/studio/usage?from=2026-01-01&to=2026-01-31", "", 200, "{"},
	} {
		answer, text := send(t, server, one.method, one.path, one.body)
		if answer.StatusCode != one.status || !strings.Contains(strings.ToLower(text), strings.ToLower(one.contains)) {
			t.Errorf("%s %s: %d %.300s", one.method, one.path, answer.StatusCode, text)
		}
	}
	if answer, text := send(t, server, "GET", "/studio/api/workflows", "", "X-Gate", "shut"); answer.StatusCode != 403 {
		t.Error(answer.StatusCode, text)
	}
	large := strings.Repeat("x", 300<<20)
	if answer, text := send(t, server, "POST", "/studio/api/workflows", large); answer.StatusCode != 413 || !json.Valid([]byte(text)) {
		t.Error(answer.StatusCode, text)
	}
}

func TestTheGateIsAskedWhereNoMarkSays(t *testing.T) {
	s := open_(t, "gate.sqlite")
	err := s.Answer(HostGate, func(_ context.Context, call *HostCall) (any, error) {
		return object{"allow": strings.Contains(string(call.Payload), `"ada"`)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	server := served(t, s)
	for user, status := range map[string]int{"ada": 200, "bob": 403} {
		if answer, text := send(t, server, "GET", "/studio/api/workflows", "", "X-Gate", "", "X-User", user); answer.StatusCode != status {
			t.Error(user, answer.StatusCode, text)
		}
	}
}

func TestARequestThatOnlyReadsBeginsNoStreamUnlessTheApplicationMayBeAsked(t *testing.T) {
	s := open_(t, "reads.sqlite")
	var begun atomic.Int32
	library := *s.library
	begin := library.start
	library.start = func(engine uint64, op, request *byte, length uintptr, body *byte, bodyLength uintptr, out *uint64, err *buffer) int32 {
		begun.Add(1)
		return begin(engine, op, request, length, body, bodyLength, out, err)
	}
	s.library = &library
	server := served(t, s)
	path := "/studio/api/providers"
	begins := func(streams int32, what, method, body, gate string) {
		t.Helper()
		begun.Store(0)
		if send(t, server, method, path, body, "X-Gate", gate, "X-User", "ada"); begun.Load() != streams {
			t.Error(what, begun.Load(), "streams")
		}
	}
	begins(0, "a request that reads:", "GET", "", "open")
	begins(1, "a gate that is asked:", "GET", "", "")
	begins(1, "a gate that nobody said:", "GET", "", "nil")
	begins(1, "a body to a request that reads:", "GET", "{}", "open")
	begins(1, "one that may not come:", "POST", "{}", "shut")
	if err := s.Answer(HostSecretGet, func(context.Context, *HostCall) (any, error) { return object{"value": "x"}, nil }); err != nil {
		t.Fatal(err)
	}
	begins(1, "secrets that are asked for:", "GET", "", "open")
	path = "/studio/%61pi/providers"
	begins(1, "a path that is written otherwise:", "GET", "", "open")
	path = "/studio/workflows"
	begins(0, "a page, which needs no secret:", "GET", "", "open")
	begins(1, "a page whose gate is asked:", "GET", "", "")
}

func TestAClientThatLeavesWhileTheGateIsAskedIsNotWaitedForAndClosingIsToldAsSuch(t *testing.T) {
	s := open_(t, "leaves.sqlite")
	asked := make(chan struct{}, 2)
	err := s.Answer(HostGate, func(ctx context.Context, _ *HostCall) (any, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := s.Handler(Marks{})
	ask := func(ctx context.Context) chan int {
		status := make(chan int, 1)
		go func() {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "GET", "/studio/api/agents", nil))
			status <- answer.Code
		}()
		<-asked
		return status
	}
	ctx, leave := context.WithCancel(context.Background())
	left := ask(ctx)
	leave()
	select {
	case <-left:
	case <-time.After(20 * time.Second):
		t.Error("it waits for a client that has left")
	}
	closed := ask(context.Background())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if status := <-closed; status != http.StatusServiceUnavailable {
		t.Error("a request that its engine's end cuts off is answered", status)
	}
}

func TestAClientThatGoesLeavesNoStream(t *testing.T) {
	s := open_(t, "gone.sqlite")
	_ = Tool(s, "slow", func(ctx context.Context, _ object) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
	save(t, s, "slow", "tool", object{"tool_ref": "host:slow"})
	server := served(t, s)
	ctx, leave := context.WithCancel(context.Background())
	request, _ := http.NewRequestWithContext(ctx, "POST", server.URL+"/studio/workflows/slow/run/stream", strings.NewReader(`{"message":"hi"}`))
	request.Header.Set("X-Gate", "open")
	request.Header.Set("X-Requested-With", "test")
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	// Events come while the run is still under way.
	if line, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "retry:") {
		t.Fatal(line, err)
	}
	leave()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s.mutex.Lock()
		open := len(s.streams)
		s.mutex.Unlock()
		if open == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the stream is still open")
		}
	}
}

func TestABodyThatCannotBeReadIsRefused(t *testing.T) {
	s := open_(t, "unread.sqlite")
	server := served(t, s)
	connection, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, _ = io.WriteString(connection, "POST /studio/api/workflows HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Gate: open\r\nX-Requested-With: test\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil || answer.StatusCode != 400 {
		t.Fatal(answer, err)
	}
	// What the application has around the mount says 413.
	small := http.MaxBytesHandler(s.Handler(Marks{Gate: func(*http.Request) bool { return true }}), 10)
	told := httptest.NewRecorder()
	request := httptest.NewRequest("POST", "/studio/api/workflows", strings.NewReader(`{"name":"longer than ten"}`))
	request.Header.Set("Content-Type", "application/json")
	small.ServeHTTP(told, request)
	if told.Code != 413 || !json.Valid(told.Body.Bytes()) {
		t.Fatal(told.Code, told.Body)
	}
}

func TestAClosedStudioIsUnavailable(t *testing.T) {
	s := open_(t, "closed.sqlite")
	server := served(t, s)
	_ = s.Close()
	if answer, text := send(t, server, "GET", "/studio/api/workflows", ""); answer.StatusCode != 503 || !json.Valid([]byte(text)) {
		t.Fatal(answer.StatusCode, text)
	}
}

func TestARequestLineIsEscapedOnce(t *testing.T) {
	for raw, wanted := range map[string]string{"/a%2Fb%20ü\"<": "/a%2Fb%20%C3%BC%22%3C", "/x/?#[]@": "/x/?#[]@"} {
		if got := target(raw); got != wanted {
			t.Errorf("%s: %s", raw, got)
		}
	}
	if got := readable("caf\xe9"); got != "café" {
		t.Error(got)
	}
}

func TestAnAnswerThatBreaksOffIsNotTakenForAWholeOne(t *testing.T) {
	for kind, whole := range map[string]bool{"text/event-stream": true, "image/png": false} {
		s := open_(t, "torn.sqlite")
		ask(t, s)
		stream, err := s.Start(Run{Workflow: "ask", Message: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		stream.Close()
		aborted := func() (aborted bool) {
			defer func() { aborted = recover() == http.ErrAbortHandler }()
			s.answer(httptest.NewRecorder(), httptest.NewRequest("GET", "/studio", nil), answerHead{Status: 200, Headers: [][2]string{{"content-type", kind}}}, stream)
			return
		}()
		if aborted == whole {
			t.Fatal(kind, aborted)
		}
	}
}

func TestTheMountIsWhereTheConfigurationSays(t *testing.T) {
	s, err := Open(Config{"environment": "local", "route_prefix": "shop/studio", "database": object{"path": filepath.Join(t.TempDir(), "prefix.sqlite")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mux := http.NewServeMux()
	s.Mount(mux, Marks{})
	for path, ours := range map[string]bool{"/shop/studio/workflows": true, "/studio/workflows": false} {
		if _, pattern := mux.Handler(httptest.NewRequest("GET", path, nil)); (pattern != "") != ours {
			t.Error(path, pattern)
		}
	}
}

func TestAHeaderOfTheApplicationIsReplacedNotRepeated(t *testing.T) {
	s := open_(t, "headers.sqlite")
	handler := s.Handler(Marks{Gate: func(*http.Request) bool { return true }})
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "text/html")
	answer.Header().Set("X-Own", "1")
	handler.ServeHTTP(answer, httptest.NewRequest("GET", "/studio/api/workflows", nil))
	if types := answer.Header().Values("Content-Type"); len(types) != 1 || types[0] == "text/html" || answer.Header().Get("X-Own") != "1" {
		t.Fatal(answer.Header())
	}
	// A cache that may keep an asset has to know that it is another for each origin.
	page := httptest.NewRecorder()
	handler.ServeHTTP(page, httptest.NewRequest("GET", "/studio/workflows", nil))
	path := "/studio/" + regexp.MustCompile(`assets/[^"]+\.js`).FindString(page.Body.String())
	asset := httptest.NewRecorder()
	asset.Header().Set("Vary", "Origin")
	handler.ServeHTTP(asset, httptest.NewRequest("GET", path, nil))
	if vary := strings.Join(asset.Header().Values("Vary"), ", "); asset.Code != 200 || vary != "Origin, accept-encoding" {
		t.Fatal(path, asset.Code, vary)
	}
}
