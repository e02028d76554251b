// Makes the workflow `draft`, which hello hosts run.
package main

import (
	"context"
	"encoding/json"
	"log"

	"github.com/wfstudio/wfstudio-go"
)

const draft = `{"slug": "draft", "name": "Draft", "graph": {"version": 1, "nodes": [
	{"id": "start", "type": "start", "position": {"x": 0, "y": 0}, "data": {}},
	{"id": "write", "type": "llm", "position": {"x": 0, "y": 0}, "data": {"provider": "script", "model": "echo", "prompt": "{{input}}", "output_key": "draft"}},
	{"id": "stop", "type": "stop", "position": {"x": 0, "y": 0}, "data": {"reply": "{{draft}}"}}], "edges": [
	{"id": "a", "source": "start", "target": "write", "sourceHandle": "default", "targetHandle": "default"},
	{"id": "b", "source": "write", "target": "stop", "sourceHandle": "default", "targetHandle": "default"}]}}`

func main() {
	s, err := wfstudio.Open(wfstudio.Config{"environment": "local", "database": map[string]any{"path": "studio.sqlite"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Call(context.Background(), wfstudio.OpWorkflowSave, json.RawMessage(draft)); err != nil {
		log.Fatal(err)
	}
}
