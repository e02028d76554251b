// Owns the handles of the library and the buffers that it gives.
using System;
using System.Runtime.InteropServices;

namespace WfStudio
{
    [StructLayout(LayoutKind.Sequential)]
    internal struct Buf
    {
        IntPtr data;
        UIntPtr length, space;

        // Copies the bytes and gives the buffer back.
        internal byte[] Take(Native native)
        {
            if (data == IntPtr.Zero) return new byte[0];
            var bytes = new byte[(int)length.ToUInt64()];
            Marshal.Copy(data, bytes, 0, bytes.Length);
            native.BufFree(ref this);
            return bytes;
        }
    }

    internal sealed class EngineHandle : SafeHandle
    {
        readonly Native native;
        internal EngineHandle(Native native, IntPtr handle) : base(IntPtr.Zero, true) { this.native = native; SetHandle(handle); }
        public override bool IsInvalid { get { return handle == IntPtr.Zero; } }
        // Nobody closed it: what runs is put down without a wait.
        protected override bool ReleaseHandle()
        {
            using (var last = new EngineHandle(native, handle, false)) return native.EngineClose(last, 0) >= 0;
        }
        EngineHandle(Native native, IntPtr handle, bool owned) : base(IntPtr.Zero, owned) { this.native = native; SetHandle(handle); }
    }

    internal sealed class StreamHandle : SafeHandle
    {
        readonly Native native;
        internal StreamHandle(Native native, IntPtr handle) : base(IntPtr.Zero, true) { this.native = native; SetHandle(handle); }
        internal ulong Number { get { return (ulong)handle.ToInt64(); } }
        public override bool IsInvalid { get { return handle == IntPtr.Zero; } }
        protected override bool ReleaseHandle() { return native.StreamClose(handle) >= 0; }
    }
}
