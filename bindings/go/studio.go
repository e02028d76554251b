// Package wfstudio runs Workflow Studio inside a Go application: its pages and routes as an http.Handler, runs as iterators of
// events, functions of the application as tools of agents.
//
// The library never calls into Go. One goroutine waits for news of all streams of an engine, by a descriptor in the runtime's
// poller, so that a thousand waiting runs occupy no thread.
package wfstudio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"
)

// Config has the configuration keys, dotted ones nested.
type Config map[string]any

// Code is what kind of error the library met; errors.Is finds it in an *Error.
type Code int32

func (c Code) Error() string {
	if name, known := codeNames[c]; known {
		return name
	}
	return fmt.Sprintf("code %d", int32(c))
}

// Error is a refusal or a fault of the library.
type Error struct {
	Code    Code
	Status  int             // the HTTP status that the problem would have, or 0
	Name    string          // the problem's own code, such as "not_found"
	Detail  string          // what happened, in the language of the configuration
	Problem json.RawMessage // the whole problem document, or nil
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return "studio: " + e.Code.Error()
	}
	return fmt.Sprintf("studio: %s: %s", e.Code.Error(), e.Detail)
}

// Unwrap gives the code, so that errors.Is(err, CodeNotFound) holds.
func (e *Error) Unwrap() error { return e.Code }

func failed(code int32, problem []byte) error {
	failure := &Error{Code: Code(code)}
	var members map[string]json.RawMessage
	if json.Unmarshal(problem, &members) == nil {
		failure.Problem = problem
		_ = json.Unmarshal(members["status"], &failure.Status)
		_ = json.Unmarshal(members["code"], &failure.Name)
		_ = json.Unmarshal(members["detail"], &failure.Detail)
	}
	return failure
}

// Studio is an open engine. All its methods may be called from any goroutine.
type Studio struct {
	library *library
	engine  uint64
	host    host
	wake    *os.File // readable when there is news; nil where a thread waits instead
	done    chan struct{}

	mutex   sync.Mutex
	streams map[uint64]*Stream
	closing sync.Once
	closed  error
}

// Open opens an engine. Threads and files come with its first use.
func Open(config Config) (*Studio, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("studio: configuration: %w", err)
	}
	return OpenJSON(text)
}

// OpenJSON is Open with the configuration as it stands in a file.
func OpenJSON(text []byte) (*Studio, error) {
	lib, err := load()
	if err != nil {
		return nil, err
	}
	s := &Studio{library: lib, done: make(chan struct{}), streams: map[uint64]*Stream{}}
	var out buffer
	code := lib.engineOpen(start(text), uintptr(len(text)), &s.engine, &out)
	if bytes := lib.take(&out); code != codeOk {
		return nil, failed(code, bytes)
	}
	s.host.open(s)
	s.wait()
	return s, nil
}

// Close ends streams, waits for calls to the host and puts runs down so that they can be taken up again; at most 10 seconds.
func (s *Studio) Close() error {
	limit, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	return s.Shutdown(limit)
}

// Shutdown is Close until the deadline of the context. Only the first call does something; the others give its result.
func (s *Studio) Shutdown(ctx context.Context) error {
	s.closing.Do(func() {
		limit := 10 * time.Second
		if deadline, has := ctx.Deadline(); has {
			limit = min(max(0, time.Until(deadline)), math.MaxUint32*time.Millisecond)
		}
		if code := s.library.engineClose(s.engine, uint32(limit.Milliseconds())); code != codeOk {
			s.closed = failed(code, nil)
		}
		close(s.done)
		s.host.end()
		if s.wake != nil {
			_ = s.wake.Close()
		}
	})
	return s.closed
}

// Call does one operation, such as "trace.list"; the operation "ops" lists them. The request is anything that becomes a JSON
// object, or nil. When the context ends the call is given up.
func (s *Studio) Call(ctx context.Context, op string, request any) (json.RawMessage, error) {
	stream, err := s.begin(op, request, nil)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var answer json.RawMessage
	for {
		code, bytes, err := stream.next(ctx)
		switch {
		case err != nil:
			return nil, err
		case code == codeHead:
			answer = bytes
		case code == codeEnd:
			return answer, nil
		}
	}
}

// begin starts an operation; its answer comes by the stream.
func (s *Studio) begin(op string, request any, body []byte) (*Stream, error) {
	var text []byte
	if request != nil {
		var err error
		if text, err = json.Marshal(request); err != nil {
			return nil, fmt.Errorf("studio: request of %s: %w", op, err)
		}
	}
	name := append([]byte(op), 0)
	var handle uint64
	var out buffer
	code := s.library.start(s.engine, start(name), start(text), uintptr(len(text)), start(body), uintptr(len(body)), &handle, &out)
	if bytes := s.library.take(&out); code != codeOk {
		return nil, failed(code, bytes)
	}
	return s.stream(handle), nil
}

// stream is one that the library has made.
func (s *Studio) stream(handle uint64) *Stream {
	stream := &Stream{studio: s, handle: handle, news: make(chan struct{}, 1)}
	s.mutex.Lock()
	s.streams[handle] = stream
	s.mutex.Unlock()
	return stream
}

// wait starts the one goroutine that learns which streams have news.
func (s *Studio) wait() {
	if descriptor := s.library.engineFd(s.engine); descriptor >= 0 {
		s.wake = os.NewFile(uintptr(descriptor), "studio")
	}
	go func() {
		var rung [512]byte
		for {
			timeout := int32(0)
			if s.wake == nil {
				timeout = -1 // the one thread that waits
			} else if _, err := s.wake.Read(rung[:]); err != nil {
				if errors.Is(err, os.ErrClosed) {
					return
				}
				// The descriptor says no more: the library closed its end.
				s.spread(0)
				return
			}
			if !s.spread(timeout) {
				return
			}
		}
	}()
}

// spread tells streams that they have news, until there is none left; false when the engine is closed.
func (s *Studio) spread(timeout int32) bool {
	var handles [256]uint64
	for {
		var count uintptr
		code := s.library.ready(s.engine, timeout, &handles[0], uintptr(len(handles)), &count)
		if code < 0 {
			return false
		}
		for _, handle := range handles[:count] {
			if handle == 0 {
				s.host.fetch()
				continue
			}
			s.mutex.Lock()
			stream := s.streams[handle]
			s.mutex.Unlock()
			if stream != nil {
				stream.ring()
			}
		}
		if code == codeTimeout || count == 0 {
			return true
		}
		timeout = 0
	}
}
