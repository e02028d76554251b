// Written by `make generate`; do not edit.

package wfstudio

// symbols are where each function goes.
func (l *library) symbols() map[string]any {
	return map[string]any{
		"studio_abi_version":       &l.abiVersion,
		"studio_version":           &l.version,
		"studio_buf_free":          &l.bufFree,
		"studio_engine_open":       &l.engineOpen,
		"studio_engine_shared":     &l.engineShared,
		"studio_engine_close":      &l.engineClose,
		"studio_shutdown":          &l.shutdown,
		"studio_call":              &l.call,
		"studio_run":               &l.run,
		"studio_resume":            &l.resume,
		"studio_trace":             &l.trace,
		"studio_usage":             &l.usage,
		"studio_http":              &l.http,
		"studio_host_set":          &l.hostSet,
		"studio_host_next":         &l.hostNext,
		"studio_host_complete":     &l.hostComplete,
		"studio_start":             &l.start,
		"studio_ready":             &l.ready,
		"studio_engine_fd":         &l.engineFd,
		"studio_stream_next":       &l.streamNext,
		"studio_stream_next_batch": &l.streamNextBatch,
		"studio_stream_fd":         &l.streamFd,
		"studio_stream_cancel":     &l.streamCancel,
		"studio_stream_close":      &l.streamClose,
	}
}
