// Owns the way to the library: where it is looked for, and whether it fits.
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;

namespace WfStudio
{
    /// <summary>Says where the library was looked for, and why it was not there.</summary>
    public sealed class UnsupportedPlatformException : PlatformNotSupportedException
    {
        /// <summary>The places, each with the loader's own words.</summary>
        public readonly IReadOnlyList<KeyValuePair<string, string>> Places;

        internal UnsupportedPlatformException(string platform, List<KeyValuePair<string, string>> places) : base(Told(platform, places)) { Places = places; }

        static string Told(string platform, List<KeyValuePair<string, string>> places)
        {
            var text = new StringBuilder("there is no library of Workflow Studio for " + platform + "; tried:");
            foreach (var place in places) text.Append("\n  " + place.Key + ": " + place.Value);
            return text.Append("\nAdd the package WfStudio.Native." + platform + ", install the library by `make install`, or set " + Loader.Variable + " to its absolute path").ToString();
        }
    }

    /// <summary>How the library is found; tests put other functions there.</summary>
    internal sealed class Loader
    {
        internal const string Variable = "WFSTUDIO_LIBRARY";

        internal string Named = Environment.GetEnvironmentVariable(Variable);
        internal string Platform = Here();
        internal string[] Bundled = Beside();
        internal string System = Dynamic.SystemName;
        internal Func<string> Mapped = Dynamic.Mapped;
        internal Func<string, Native> Open = Dynamic.Open;
        internal Action<string> Warn = text => global::System.Diagnostics.Trace.TraceWarning(text);

        internal Native Find()
        {
            var tried = new List<KeyValuePair<string, string>>();
            if (!string.IsNullOrEmpty(Named))
            {
                if (Path.IsPathRooted(Named)) return Try(Named, false, tried) ?? throw new UnsupportedPlatformException(Platform, tried);
                tried.Add(new KeyValuePair<string, string>(Named, Variable + " is no absolute path"));
                throw new UnsupportedPlatformException(Platform, tried);
            }
            foreach (var path in Bundled)
            {
                var found = Try(path, true, tried);
                if (found != null) return found;
            }
            return Try(System, false, tried) ?? throw new UnsupportedPlatformException(Platform, tried);
        }

        Native Try(string path, bool exact, List<KeyValuePair<string, string>> tried)
        {
            var opened = false;
            try
            {
                if (exact && !File.Exists(path)) throw new DllNotFoundException("no such file");
                var already = Mapped();
                // Two copies in one process would drop each other's locks on the database.
                if (already != null && Path.IsPathRooted(path) && Dynamic.Real(path) != Dynamic.Real(already)) throw new DllNotFoundException("this process has " + already + " already; two copies would break each other's locks on the database");
                var native = Open(path);
                opened = true;
                var number = native.AbiVersion();
                if (number >> 16 != Native.Major || (number & 0xffff) < Native.Minor) throw new DllNotFoundException("its functions are version " + (number >> 16) + "." + (number & 0xffff) + ", and this package needs " + Native.Major + "." + Native.Minor);
                var version = Marshal.PtrToStringAnsi(native.Version());
                if (version != Native.Package && exact) throw new DllNotFoundException("it is version " + version + ", and this package is " + Native.Package);
                if (version != Native.Package) Warn("the library " + path + " is version " + version + ", and this package is " + Native.Package);
                return native;
            }
            catch (Exception failure) when (failure is DllNotFoundException || failure is EntryPointNotFoundException)
            {
                tried.Add(new KeyValuePair<string, string>(path, failure.Message));
                // One that was opened is in this process now, and no second one may come.
                if (opened || failure is EntryPointNotFoundException) throw new UnsupportedPlatformException(Platform, tried);
                return null;
            }
        }

        // The name that NuGet gives a platform, such as linux-x64 or linux-musl-arm64.
        static string Here()
        {
            var system = RuntimeInformation.IsOSPlatform(OSPlatform.Windows) ? "win" : RuntimeInformation.IsOSPlatform(OSPlatform.OSX) ? "osx" : Dynamic.Musl() ? "linux-musl" : "linux";
            return system + "-" + RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant();
        }

        // Where NuGet puts native files: beside the assembly, or below it in `runtimes`.
        static string[] Beside()
        {
            var folder = Path.GetDirectoryName(typeof(Loader).Assembly.Location);
            if (string.IsNullOrEmpty(folder)) folder = AppDomain.CurrentDomain.BaseDirectory;
            return new[] { Path.Combine(folder, "runtimes", Here(), "native", Dynamic.FileName), Path.Combine(folder, Dynamic.FileName) };
        }
    }

    /// <summary>The system's loader.</summary>
    internal static class Dynamic
    {
        static readonly bool Windows = RuntimeInformation.IsOSPlatform(OSPlatform.Windows), Apple = RuntimeInformation.IsOSPlatform(OSPlatform.OSX);
        internal static readonly string FileName = Windows ? "wfstudio.dll" : Apple ? "libwfstudio.dylib" : "libwfstudio.so";
        internal static readonly string SystemName = Windows ? "wfstudio.dll" : Apple ? "libwfstudio.1.dylib" : "libwfstudio.so.1";
        const int Now = 2;

        [DllImport("kernel32", CharSet = CharSet.Unicode, SetLastError = true)] static extern IntPtr LoadLibraryExW(string path, IntPtr none, uint flags);
        [DllImport("kernel32", CharSet = CharSet.Ansi)] static extern IntPtr GetProcAddress(IntPtr library, string name);
        [DllImport("libc", EntryPoint = "dlopen")] static extern IntPtr dlopen(string path, int flags);
        [DllImport("libc", EntryPoint = "dlsym")] static extern IntPtr dlsym(IntPtr library, string name);
        [DllImport("libc", EntryPoint = "dlerror")] static extern IntPtr dlerror();
        [DllImport("libdl.so.2", EntryPoint = "dlopen")] static extern IntPtr dlopen2(string path, int flags);
        [DllImport("libdl.so.2", EntryPoint = "dlsym")] static extern IntPtr dlsym2(IntPtr library, string name);
        [DllImport("libdl.so.2", EntryPoint = "dlerror")] static extern IntPtr dlerror2();

        // Until glibc 2.34 these functions were in a library of their own.
        static T Either<T>(Func<T> here, Func<T> there)
        {
            try { return here(); }
            catch (EntryPointNotFoundException) { return there(); }
            catch (DllNotFoundException) { return there(); }
        }

        internal static Native Open(string path)
        {
            // Asked once before: the runtime's own look for that function would take the message away.
            if (!Windows) Either(dlerror, dlerror2);
            // Neither the current folder nor PATH: a name alone is looked for in the system's folder.
            var library = Windows ? LoadLibraryExW(path, IntPtr.Zero, Path.IsPathRooted(path) ? 0x1100u : 0x800u) : Either(() => dlopen(path, Now), () => dlopen2(path, Now));
            if (library == IntPtr.Zero) throw new DllNotFoundException(Windows ? "error " + Marshal.GetLastWin32Error() : Marshal.PtrToStringAnsi(Either(dlerror, dlerror2)));
            return new Native((name, kind) =>
            {
                var found = Windows ? GetProcAddress(library, name) : Either(() => dlsym(library, name), () => dlsym2(library, name));
                if (found == IntPtr.Zero) throw new EntryPointNotFoundException("it has no " + name + ": it is older than this package");
                return Marshal.GetDelegateForFunctionPointer(found, kind);
            });
        }

        [DllImport("libc", EntryPoint = "realpath")] static extern IntPtr realpath(string path, IntPtr none);
        [DllImport("libc", EntryPoint = "free")] static extern void free(IntPtr text);

        // Without links: `make install` gives one file several names, and the system tells the file.
        internal static string Real(string path)
        {
            var found = Windows ? IntPtr.Zero : realpath(path, IntPtr.Zero);
            if (found == IntPtr.Zero) return Path.GetFullPath(path);
            var real = Marshal.PtrToStringAnsi(found);
            free(found);
            return real;
        }

        // The file of the library that this process has already; only Linux can tell.
        internal static string Mapped() { return Mapping("libwfstudio."); }

        internal static bool Musl() { return Mapping("ld-musl-") != null; }

        static string Mapping(string prefix)
        {
            if (!File.Exists("/proc/self/maps")) return null;
            foreach (var line in File.ReadAllLines("/proc/self/maps"))
            {
                var slash = line.IndexOf('/');
                if (slash >= 0 && Path.GetFileName(line).StartsWith(prefix, StringComparison.Ordinal)) return line.Substring(slash);
            }
            return null;
        }
    }
}
