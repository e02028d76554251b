package wfstudio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"
)

// Prefixes are the two paths below which the studio answers, unless the configuration says otherwise: see Mounts.
var Prefixes = []string{"/studio", "/api/studio"}

// Marks say who asks; what is nil is not said.
type Marks struct {
	User       func(*http.Request) any    // an object with an id; nil for nobody
	Gate       func(*http.Request) bool   // may this request enter the pages and their API
	Tenant     func(*http.Request) string // whose data it is
	Authorized func(*http.Request) bool   // may it read the export
	BaseURL    string                     // where the host is reached, if requests do not tell
	// Head may change what the engine is told of a request, as the last: without its "gate", the engine asks HostGate.
	Head func(*http.Request, map[string]any)
}

// Mux is what handlers are registered with: http.ServeMux and others of its kind.
type Mux interface {
	Handle(pattern string, handler http.Handler)
}

// Mounts are the paths below which this studio answers.
func (s *Studio) Mounts(ctx context.Context) ([]string, error) {
	text, err := s.Call(ctx, OpAbout, nil)
	if err != nil {
		return nil, err
	}
	var about struct {
		Mounts []string `json:"mounts"`
	}
	err = json.Unmarshal(text, &about)
	return about.Mounts, err
}

// Mount registers the studio below its prefixes.
func (s *Studio) Mount(mux Mux, marks Marks) {
	handler := s.Handler(marks)
	prefixes, err := s.Mounts(context.Background())
	if err != nil {
		prefixes = Prefixes // it is closed, and says so
	}
	for _, prefix := range prefixes {
		mux.Handle(prefix, handler)
		mux.Handle(prefix+"/", handler)
	}
}

// Handler answers the studio's pages and routes; route both Prefixes to it, with the path as it came. The handler takes the path from
// the request line, so that a router or StripPrefix may change the URL.
func (s *Studio) Handler(marks Marks) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := headOf(r, marks)
		var body []byte
		if r.ContentLength != 0 && r.Body != nil {
			// The engine says first whether the request may come in at all, and how long its body may be.
			head["expect"] = "100-continue"
			first, stream, err := s.ask(r, head, nil)
			if err != nil {
				refuse(w, err)
				return
			}
			if first.Status != http.StatusContinue {
				s.answer(w, r, first, stream)
				return
			}
			if stream != nil {
				stream.Close()
			}
			delete(head, "expect")
			if body, err = io.ReadAll(io.LimitReader(r.Body, first.BodyLimit+1)); err != nil {
				unread(w, err)
				return
			}
			if int64(len(body)) > first.BodyLimit {
				w.Header().Set("Connection", "close")
				tell(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes and was not read to its end; nothing was done", first.BodyLimit))
				return
			}
		}
		told, stream, err := s.ask(r, head, body)
		if err != nil {
			refuse(w, err)
			return
		}
		s.answer(w, r, told, stream)
	})
}

type answerHead struct {
	Status    int         `json:"status"`
	Headers   [][2]string `json:"headers"`
	Body      string      `json:"body"`
	BodyLimit int64       `json:"body_limit"`
}

// ask gives the head of the answer, and the stream that has its body.
func (s *Studio) ask(r *http.Request, head map[string]any, body []byte) (told answerHead, stream *Stream, err error) {
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && len(body) == 0 && !s.asks(head) {
		return s.askHere(head)
	}
	if stream, err = s.begin(doHttp, head, body); err != nil {
		return told, nil, err
	}
	code, bytes, err := stream.next(r.Context())
	if err == nil && code != codeHead {
		err = errors.New("studio: an answer without a head")
	}
	if err == nil {
		err = json.Unmarshal(bytes, &told)
	}
	if err != nil {
		stream.Close()
	}
	return told, stream, err
}

// asks tells whether the application may be asked meanwhile. That can take seconds, and whoever waits for it must hold no thread and notice that the client is gone.
func (s *Studio) asks(head map[string]any) bool {
	_, decided := head["gate"].(bool) // nil leaves the decision to HostGate
	path, _ := head["path"].(string)
	page := !strings.Contains(path, "%") && !strings.Contains(path, "/api/") // no page and no file of theirs needs a secret
	s.host.mutex.Lock()
	defer s.host.mutex.Unlock()
	return !decided || !page && s.host.answers[HostSecretGet] != nil
}

// askHere has a request that only reads answered on this thread, as far as that goes: nothing has to be handed over and woken. The head has a body that is text.
func (s *Studio) askHere(head map[string]any) (told answerHead, stream *Stream, err error) {
	text, err := json.Marshal(head)
	if err != nil {
		return told, nil, fmt.Errorf("studio: request: %w", err)
	}
	var handle uint64
	var out buffer
	code := s.library.http(s.engine, start(text), uintptr(len(text)), nil, 0, &handle, &out)
	bytes := s.library.take(&out)
	if code != codeOk {
		return told, nil, failed(code, bytes)
	}
	if handle != 0 {
		stream = s.stream(handle)
	}
	if err = json.Unmarshal(bytes, &told); err != nil && stream != nil {
		stream.Close()
	}
	return told, stream, err
}

// answer writes head and body. What is there is sent before more is waited for; when the client is gone the stream is closed at once.
func (s *Studio) answer(w http.ResponseWriter, r *http.Request, told answerHead, stream *Stream) {
	if stream != nil {
		defer stream.Close()
	}
	for _, pair := range told.Headers { // what the application has set before is replaced, not repeated; only `Vary` adds up
		if !strings.EqualFold(pair[0], "Vary") {
			w.Header().Del(pair[0])
		}
	}
	for _, pair := range told.Headers {
		w.Header().Add(pair[0], pair[1])
	}
	w.WriteHeader(told.Status)
	_, _ = io.WriteString(w, told.Body)
	if stream == nil {
		return
	}
	stream.idle = func() { _ = http.NewResponseController(w).Flush() }
	for {
		code, bytes, err := stream.next(r.Context())
		if err != nil {
			events := strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") // whole, and read on from where they were cut
			if r.Context().Err() == nil && !(events && errors.Is(err, CodeClosed)) {
				panic(http.ErrAbortHandler) // the client must not take a torn body for a whole one
			}
			return
		}
		if code == codeEnd {
			return
		}
		if code == codeOk {
			if _, err := w.Write(bytes); err != nil && r.Method != http.MethodHead {
				return
			}
		}
	}
}

func headOf(r *http.Request, marks Marks) map[string]any {
	path, query := r.URL.EscapedPath(), r.URL.RawQuery
	if strings.HasPrefix(r.RequestURI, "/") {
		path, query, _ = strings.Cut(r.RequestURI, "?")
	}
	headers := [][2]string{{"host", r.Host}}
	for name, values := range r.Header {
		for _, value := range values {
			headers = append(headers, [2]string{name, readable(value)})
		}
	}
	head := map[string]any{"method": r.Method, "path": target(path), "query": target(query), "headers": headers}
	if marks.User != nil {
		head["user"] = marks.User(r)
	}
	if marks.Gate != nil {
		head["gate"] = marks.Gate(r)
	}
	if marks.Tenant != nil {
		if tenant := marks.Tenant(r); tenant != "" {
			head["tenant"] = tenant
		}
	}
	if marks.Authorized != nil {
		head["authorized"] = marks.Authorized(r)
	}
	if marks.BaseURL != "" {
		head["base_url"] = marks.BaseURL
	}
	if marks.Head != nil {
		marks.Head(r, head)
	}
	return head
}

// target escapes what may not stand in a request line; some clients send it all the same.
func target(raw string) string {
	const plain = "%/:?#[]@!$&'()*+,;=-._~"
	var text strings.Builder
	for i := range len(raw) {
		one := raw[i]
		if '0' <= one && one <= '9' || 'A' <= one && one <= 'Z' || 'a' <= one && one <= 'z' || strings.IndexByte(plain, one) >= 0 {
			text.WriteByte(one)
		} else {
			fmt.Fprintf(&text, "%%%02X", one)
		}
	}
	return text.String()
}

// readable is a header's value as text; old clients send Latin-1.
func readable(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	letters := make([]rune, len(value))
	for i := range len(value) {
		letters[i] = rune(value[i])
	}
	return string(letters)
}

// unread answers a request whose body did not come whole. The client may be gone; without an answer, one that is not would be told 200.
func unread(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		status = http.StatusRequestTimeout
	}
	w.Header().Set("Connection", "close")
	tell(w, status, fmt.Sprintf("the body could not be read: %v; nothing was done", err))
}

// refuse answers a request that the engine could not take.
func refuse(w http.ResponseWriter, err error) {
	status, detail := http.StatusBadRequest, err.Error()
	var failure *Error
	switch {
	case errors.As(err, &failure) && (failure.Code == CodeClosed || failure.Code == CodeBadHandle):
		status = http.StatusServiceUnavailable
	case errors.As(err, &failure) && failure.Status >= 400:
		status = failure.Status
	}
	if failure != nil && failure.Detail != "" {
		detail = failure.Detail
	}
	tell(w, status, detail)
}

func tell(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": detail})
}
