// The host of the conformance scenario: bindings/conformance/README.md says what it offers.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/wfstudio/wfstudio-go"
)

type object = map[string]any

var journal struct {
	sync.Mutex
	entries []object
}

func note(entry object) {
	journal.Lock()
	defer journal.Unlock()
	journal.entries = append(journal.entries, entry)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func read[T any](from []byte) (value T) {
	_ = json.Unmarshal(from, &value)
	return value
}

type order struct {
	OrderID string `json:"order_id"`
}
type refund struct {
	OrderID string `json:"order_id"`
	Amount  int    `json:"amount"`
}

const (
	orderSchema  = `{"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"]}`
	refundSchema = `{"type":"object","properties":{"order_id":{"type":"string"},"amount":{"type":"integer"}},"required":["order_id","amount"]}`
)

func tool[In any](s *wfstudio.Studio, name, description, schema string, does func(context.Context, In) (any, error), options ...wfstudio.ToolOption) {
	options = append(options, wfstudio.Description(description), wfstudio.InputSchema(schema))
	must(wfstudio.Tool(s, name, func(ctx context.Context, in In) (any, error) {
		call := read[object](wfstudio.CallOf(ctx).Payload)
		note(object{"op": "tool.call", "name": name, "arguments": call["arguments"], "tenant": call["tenant"], "user": call["user"]})
		return does(ctx, in)
	}, options...))
}

func declare(s *wfstudio.Studio) {
	tool(s, "lookup", "Looks an order up", orderSchema, func(_ context.Context, in order) (any, error) {
		return object{"note": "Grüße, <b>&</b> 🌍", "order_id": in.OrderID, "status": "shipped"}, nil
	}, wfstudio.Idempotent)
	tool(s, "refund", "Pays an order back", refundSchema, func(_ context.Context, in refund) (any, error) {
		return object{"order_id": in.OrderID, "refunded": in.Amount}, nil
	}, wfstudio.RequireApproval)
	tool(s, "refuse", "Always refuses", orderSchema, func(context.Context, order) (any, error) { return nil, errors.New("the order is closed") })
	tool(s, "explode", "Always throws", orderSchema, func(context.Context, order) (any, error) { panic("boom") })
	tool(s, "slow", "Takes its time", orderSchema, func(ctx context.Context, _ order) (any, error) {
		select {
		case <-ctx.Done():
			note(object{"op": "cancelled", "name": "slow"})
		case <-time.After(15 * time.Second):
		}
		return nil, ctx.Err()
	}, wfstudio.Timeout(20*time.Second))
	must(s.Answer(wfstudio.HostGate, func(_ context.Context, call *wfstudio.HostCall) (any, error) {
		asked := read[object](call.Payload)
		note(object{"op": "gate", "method": asked["method"], "path": asked["path"], "user": asked["user"]})
		user, _ := asked["user"].(object)
		return object{"allow": user["id"] == "ada"}, nil
	}))
	must(s.Answer(wfstudio.HostSecretGet, func(_ context.Context, call *wfstudio.HostCall) (any, error) {
		asked := read[object](call.Payload)
		note(object{"op": "secret.get", "name": asked["name"], "tenant": asked["tenant"]})
		if asked["name"] != "PEER_KEY" {
			return nil, errors.New("no such secret")
		}
		return object{"value": "key-of-the-peer"}, nil
	}))
	must(s.Answer(wfstudio.HostProviderChat, chat))
}

func chat(_ context.Context, call *wfstudio.HostCall) (any, error) {
	asked := read[struct {
		Model    string
		Messages []struct {
			Role    string
			Content any
		}
	}](call.Payload)
	last := ""
	for _, message := range asked.Messages {
		if text, is := message.Content.(string); is && message.Role == "user" {
			last = text
		}
	}
	note(object{"op": "provider.chat", "model": asked.Model, "last": last})
	if asked.Model == "mute" {
		return nil, errors.New("the model is away")
	}
	for _, part := range []string{"You ", "said: ", last} {
		if err := call.Chunk(object{"delta": part}); err != nil {
			return nil, err
		}
	}
	return object{"message": object{"role": "assistant", "content": "You said: " + last}, "usage": object{"prompt_tokens": 7, "completion_tokens": 5}, "finish_reason": "stop"}, nil
}

// marks come from headers, which only a test would believe.
func marks() wfstudio.Marks {
	return wfstudio.Marks{
		User: func(r *http.Request) any {
			if id := r.Header.Get("X-User"); id != "" {
				return object{"id": id}
			}
			return nil
		},
		Gate:       func(r *http.Request) bool { return r.Header.Get("X-Gate") == "open" },
		Tenant:     func(r *http.Request) string { return r.Header.Get("X-Tenant") },
		Authorized: func(r *http.Request) bool { return r.Header.Get("X-Authorized") == "yes" },
		Head: func(r *http.Request, head map[string]any) {
			if r.Header.Get("X-Gate") == "" {
				delete(head, "gate")
			}
		},
	}
}

func main() {
	text, err := os.ReadFile(os.Getenv("CONFIG"))
	must(err)
	studio, err := wfstudio.OpenJSON(text)
	must(err)
	defer studio.Close()
	declare(studio)
	mux := http.NewServeMux()
	studio.Mount(mux, marks())
	own(mux, studio)
	server := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), Handler: mux}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		<-ended.Done()
		_ = studio.Close() // its streams end, so that no request waits for more
		_ = server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
