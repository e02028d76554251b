// Makes the workflow of a file, which the hello host runs.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/wfstudio/wfstudio-go"
)

func main() {
	workflow, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	s, err := wfstudio.Open(wfstudio.Config{"environment": "local", "database": map[string]any{"path": "studio.sqlite"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Call(context.Background(), wfstudio.OpWorkflowSave, json.RawMessage(workflow)); err != nil {
		log.Fatal(err)
	}
}
