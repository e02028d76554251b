// Written by `make generate`; do not edit.

//go:build wfstudio_cgo

package wfstudio

/*
#cgo pkg-config: wfstudio
#include <wfstudio.h>
static studio_engine *wfstudio_engine(uint64_t handle) { return (studio_engine *)(uintptr_t)handle; }
static studio_stream *wfstudio_stream(uint64_t handle) { return (studio_stream *)(uintptr_t)handle; }
*/
import "C"

import "unsafe"

// linked has the functions that the linker found.
func linked() *library {
	return &library{
		abiVersion: func() uint32 { return uint32(C.studio_abi_version()) },
		version:    func() string { return C.GoString(C.studio_version()) },
		bufFree:    func(buffer *buffer) { C.studio_buf_free((*C.studio_buf)(unsafe.Pointer(buffer))) },
		engineOpen: func(config *byte, len_ uintptr, out *uint64, err *buffer) int32 {
			return int32(C.studio_engine_open((*C.uint8_t)(unsafe.Pointer(config)), C.size_t(len_), (**C.studio_engine)(unsafe.Pointer(out)), (*C.studio_buf)(unsafe.Pointer(err))))
		},
		engineShared: func(shared *byte, config *byte, len_ uintptr, out *uint64, err *buffer) int32 {
			return int32(C.studio_engine_shared((*C.char)(unsafe.Pointer(shared)), (*C.uint8_t)(unsafe.Pointer(config)), C.size_t(len_), (**C.studio_engine)(unsafe.Pointer(out)), (*C.studio_buf)(unsafe.Pointer(err))))
		},
		engineClose: func(engine uint64, timeoutMs uint32) int32 {
			return int32(C.studio_engine_close(C.wfstudio_engine(C.uint64_t(engine)), C.uint32_t(timeoutMs)))
		},
		shutdown: func(timeoutMs uint32) { C.studio_shutdown(C.uint32_t(timeoutMs)) },
		call: func(engine uint64, op *byte, request *byte, len_ uintptr, out *buffer) int32 {
			return int32(C.studio_call(C.wfstudio_engine(C.uint64_t(engine)), (*C.char)(unsafe.Pointer(op)), (*C.uint8_t)(unsafe.Pointer(request)), C.size_t(len_), (*C.studio_buf)(unsafe.Pointer(out))))
		},
		run: func(engine uint64, request *byte, len_ uintptr, out *uint64, err *buffer) int32 {
			return int32(C.studio_run(C.wfstudio_engine(C.uint64_t(engine)), (*C.uint8_t)(unsafe.Pointer(request)), C.size_t(len_), (**C.studio_stream)(unsafe.Pointer(out)), (*C.studio_buf)(unsafe.Pointer(err))))
		},
		resume: func(engine uint64, request *byte, len_ uintptr, out *uint64, err *buffer) int32 {
			return int32(C.studio_resume(C.wfstudio_engine(C.uint64_t(engine)), (*C.uint8_t)(unsafe.Pointer(request)), C.size_t(len_), (**C.studio_stream)(unsafe.Pointer(out)), (*C.studio_buf)(unsafe.Pointer(err))))
		},
		trace: func(engine uint64, request *byte, len_ uintptr, out *buffer) int32 {
			return int32(C.studio_trace(C.wfstudio_engine(C.uint64_t(engine)), (*C.uint8_t)(unsafe.Pointer(request)), C.size_t(len_), (*C.studio_buf)(unsafe.Pointer(out))))
		},
		usage: func(engine uint64, query *byte, len_ uintptr, out *buffer) int32 {
			return int32(C.studio_usage(C.wfstudio_engine(C.uint64_t(engine)), (*C.uint8_t)(unsafe.Pointer(query)), C.size_t(len_), (*C.studio_buf)(unsafe.Pointer(out))))
		},
		http: func(engine uint64, head *byte, headLen uintptr, bodyIn *byte, bodyLen uintptr, bodyOut *uint64, headOut *buffer) int32 {
			return int32(C.studio_http(C.wfstudio_engine(C.uint64_t(engine)), (*C.uint8_t)(unsafe.Pointer(head)), C.size_t(headLen), (*C.uint8_t)(unsafe.Pointer(bodyIn)), C.size_t(bodyLen), (**C.studio_stream)(unsafe.Pointer(bodyOut)), (*C.studio_buf)(unsafe.Pointer(headOut))))
		},
		hostSet: func(engine uint64, opsJson *byte, len_ uintptr, host uintptr, userData uintptr, destroy uintptr) int32 {
			return int32(C.studio_host_set(C.wfstudio_engine(C.uint64_t(engine)), (*C.uint8_t)(unsafe.Pointer(opsJson)), C.size_t(len_), nil, nil, nil))
		},
		hostNext: func(engine uint64, timeoutMs int32, out *buffer) int32 {
			return int32(C.studio_host_next(C.wfstudio_engine(C.uint64_t(engine)), C.int32_t(timeoutMs), (*C.studio_buf)(unsafe.Pointer(out))))
		},
		hostComplete: func(engine uint64, callId uint64, ok int32, data *byte, len_ uintptr) int32 {
			return int32(C.studio_host_complete(C.wfstudio_engine(C.uint64_t(engine)), C.uint64_t(callId), C.int32_t(ok), (*C.uint8_t)(unsafe.Pointer(data)), C.size_t(len_)))
		},
		streamNext: func(stream uint64, timeoutMs int32, out *buffer) int32 {
			return int32(C.studio_stream_next(C.wfstudio_stream(C.uint64_t(stream)), C.int32_t(timeoutMs), (*C.studio_buf)(unsafe.Pointer(out))))
		},
		streamNextBatch: func(stream uint64, timeoutMs int32, maxBytes uintptr, out *buffer) int32 {
			return int32(C.studio_stream_next_batch(C.wfstudio_stream(C.uint64_t(stream)), C.int32_t(timeoutMs), C.size_t(maxBytes), (*C.studio_buf)(unsafe.Pointer(out))))
		},
		streamFd:     func(stream uint64) int32 { return int32(C.studio_stream_fd(C.wfstudio_stream(C.uint64_t(stream)))) },
		streamCancel: func(stream uint64) int32 { return int32(C.studio_stream_cancel(C.wfstudio_stream(C.uint64_t(stream)))) },
		streamClose:  func(stream uint64) int32 { return int32(C.studio_stream_close(C.wfstudio_stream(C.uint64_t(stream)))) },
		start: func(engine uint64, op *byte, request *byte, len_ uintptr, body *byte, bodyLen uintptr, out *uint64, err *buffer) int32 {
			return int32(C.studio_start(C.wfstudio_engine(C.uint64_t(engine)), (*C.char)(unsafe.Pointer(op)), (*C.uint8_t)(unsafe.Pointer(request)), C.size_t(len_), (*C.uint8_t)(unsafe.Pointer(body)), C.size_t(bodyLen), (**C.studio_stream)(unsafe.Pointer(out)), (*C.studio_buf)(unsafe.Pointer(err))))
		},
		ready: func(engine uint64, timeoutMs int32, handles *uint64, room uintptr, count *uintptr) int32 {
			return int32(C.studio_ready(C.wfstudio_engine(C.uint64_t(engine)), C.int32_t(timeoutMs), (*C.uint64_t)(unsafe.Pointer(handles)), C.size_t(room), (*C.size_t)(unsafe.Pointer(count))))
		},
		engineFd: func(engine uint64) int32 { return int32(C.studio_engine_fd(C.wfstudio_engine(C.uint64_t(engine)))) },
	}
}
