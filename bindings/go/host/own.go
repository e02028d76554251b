package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/wfstudio/wfstudio-go"
)

type asked struct {
	Run, Resume, Request object
	LeaveAfter           string `json:"leave_after"`
	CancelAfter          string `json:"cancel_after"`
	Op, How              string
	Count                bool
}

type line struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// own adds the routes of the host itself, which use the native API.
func own(mux *http.ServeMux, s *wfstudio.Studio) {
	route := func(path string, does func(w *json.Encoder, in asked)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			does(json.NewEncoder(w), read[asked](body))
		})
	}
	mux.HandleFunc("GET /own/ping", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "pong")
	})
	route("GET /own/journal", func(w *json.Encoder, _ asked) {
		journal.Lock()
		defer journal.Unlock()
		_ = w.Encode(append([]object{}, journal.entries...))
		journal.entries = nil
	})
	mux.HandleFunc("POST /own/run", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/x-ndjson")
		_ = json.NewEncoder(w).Encode(run(r.Context(), s, read[asked](body), json.NewEncoder(w)))
	})
	route("POST /own/call", func(w *json.Encoder, in asked) {
		result, err := s.Call(context.Background(), in.Op, in.Request)
		if err != nil {
			_ = w.Encode(told(err))
			return
		}
		_ = w.Encode(object{"result": result})
	})
	route("POST /own/close", func(w *json.Encoder, _ asked) {
		limit, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		_ = s.Shutdown(limit)
		_ = w.Encode(object{"closed": true})
	})
	route("POST /own/crash", func(_ *json.Encoder, in asked) {
		switch in.How {
		case "exit":
			_ = s.Close()
			os.Exit(0)
		case "throw":
			go panic("nobody catches this")
			select {}
		case "now":
			syscall.Exit(70)
		}
	})
}

// run gives each event to the encoder, and the line that comes last.
func run(ctx context.Context, s *wfstudio.Studio, in asked, lines *json.Encoder) object {
	var stream *wfstudio.Stream
	var err error
	if in.Resume != nil {
		trace, _ := in.Resume["trace_id"].(string)
		stream, err = s.StartResume(trace, in.Resume)
	} else {
		stream, err = s.Start(wfstudio.Run{With: in.Run})
	}
	if err != nil {
		return told(err)
	}
	defer stream.Close()
	counted, tokens := 0, 0
	for event, err := range stream.Events(ctx) {
		if err != nil {
			return told(err)
		}
		if in.Count {
			counted++
			if event.Name == wfstudio.EventToken {
				tokens++
			}
			continue
		}
		_ = lines.Encode(line{event.Name, event.Data})
		switch event.Name {
		case in.LeaveAfter:
			return object{"left": true}
		case in.CancelAfter:
			_ = stream.Cancel()
			in.CancelAfter = ""
		}
	}
	if in.Count {
		_ = lines.Encode(object{"counted": counted, "tokens": tokens})
	}
	return object{"end": true}
}

func told(err error) object {
	var failure *wfstudio.Error
	if !errors.As(err, &failure) {
		return object{"error": err.Error(), "problem": nil}
	}
	var name any
	if failure.Name != "" {
		name = failure.Name
	}
	return object{"error": int32(failure.Code), "problem": name}
}
