// Owns the search for the native library: where it may be, what of it is checked, what is said when none fits.

package wfstudio;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** Finds the library: the file that `WFSTUDIO_LIBRARY` names, else the bundled one, else that of the system. Never the current folder. */
final class Loader {
    static final String VARIABLE = "WFSTUDIO_LIBRARY";
    private static final System.Logger LOG = System.getLogger("wfstudio");

    private final Map<String, String> environment;
    private final ClassLoader resources;
    private final Function<String, Door> opener;
    private final List<String> mapped;
    private final String platform;
    private final String packaged;
    private final List<String> tried = new ArrayList<>();

    /** `mapped` are the files of this process, `packaged` is the version of this package. */
    Loader(Map<String, String> environment, ClassLoader resources, Function<String, Door> opener, List<String> mapped, String platform, String packaged) {
        this.environment = environment;
        this.resources = resources;
        this.opener = opener;
        this.mapped = mapped;
        this.platform = platform;
        this.packaged = packaged;
    }

    static Loader ordinary() {
        List<String> mapped = mappedFiles();
        return new Loader(System.getenv(), Loader.class.getClassLoader(), Loader::open, mapped, platform(mapped), version());
    }

    Door load() {
        String named = environment.get(VARIABLE);
        if (named != null && !named.isEmpty()) {
            return named(named);
        }
        Door found = bundled();
        if (found == null) {
            found = system();
        }
        if (found == null) {
            throw refused();
        }
        return found;
    }

    private Door named(String named) {
        if (!Path.of(named).isAbsolute()) {
            tried.add(VARIABLE + "=" + named + ": is no absolute path");
        } else {
            Door door = attempt(named, VARIABLE + "=" + named, false);
            if (door != null) {
                return door;
            }
        }
        throw refused();
    }

    private Door bundled() {
        String resource = "wfstudio/native/" + platform + "/" + file();
        if (resources.getResource(resource) == null) {
            tried.add("bundled: there is no " + resource + " on the class path");
            return null;
        }
        try {
            Path extracted = extract(resource);
            return attempt(extracted.toString(), "bundled, as " + extracted, true);
        } catch (IOException | UncheckedIOException failure) {
            tried.add("bundled: " + failure);
            return null;
        }
    }

    private Door system() {
        String name = file().equals("libwfstudio.so") ? "libwfstudio.so.1" : file();
        return attempt(name, "system: " + name, false);
    }

    /** The library at a place; none when it does not load, an error when it loads and does not fit. */
    private Door attempt(String library, String place, boolean bundled) {
        Door door;
        try {
            if (Path.of(library).isAbsolute()) {
                if (!Files.isRegularFile(Path.of(library))) {
                    tried.add(place + ": there is no such file");
                    return null;
                }
                onlyOne(library);
            }
            door = opener.apply(library);
        } catch (LinkageError | IllegalArgumentException failure) {
            String said = String.valueOf(failure.getMessage());
            String hint = said.contains("failed to map segment") || said.contains("Operation not permitted") ? " (is the folder on a file system that is mounted `noexec`?)" : "";
            tried.add(place + ": " + said.strip() + hint);
            return null;
        }
        fits(door, place, bundled);
        return door;
    }

    private void fits(Door door, String place, boolean bundled) {
        int abi = door.abiVersion();
        if (abi >>> 16 != Abi.VERSION >>> 16 || (abi & 0xffff) < (Abi.VERSION & 0xffff)) {
            tried.add(place + ": has functions of version " + dotted(abi) + ", this package needs " + dotted(Abi.VERSION));
            throw refused();
        }
        if (!door.version().equals(packaged)) {
            String differs = place + ": is version " + door.version() + ", this package is " + packaged;
            if (bundled) {
                tried.add(differs);
                throw refused();
            }
            LOG.log(System.Logger.Level.WARNING, differs);
        }
    }

    private static String dotted(int abi) {
        return (abi >>> 16) + "." + (abi & 0xffff);
    }

    /** A second copy in the process would break the locks of the database. */
    private void onlyOne(String library) {
        Path real = real(library);
        for (String other : mapped) {
            String name = Path.of(other).getFileName().toString();
            if (name.matches("libwfstudio[^/]*\\.(so[.0-9]*|dylib)") && !real(other).equals(real)) {
                tried.add("this process has " + other + " already; a second copy, " + library + ", would break the locks of the database");
                throw refused();
            }
        }
    }

    private static Path real(String path) {
        try {
            return Path.of(path).toRealPath();
        } catch (IOException gone) {
            return Path.of(path);
        }
    }

    /** The resource as a file of the user's cache, named by its SHA-256 and checked at each load. */
    private Path extract(String resource) throws IOException {
        String sum = sum(resources.getResourceAsStream(resource));
        Path folder = ownFolder();
        Path file = folder.resolve("libwfstudio-" + sum + file().substring(file().lastIndexOf('.')));
        if (Files.isRegularFile(file) && sum(Files.newInputStream(file)).equals(sum)) {
            return file;
        }
        Path begun = Files.createTempFile(folder, "extract", ".part");
        try (InputStream library = resources.getResourceAsStream(resource)) {
            Files.copy(library, begun, StandardCopyOption.REPLACE_EXISTING);
            Files.move(begun, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(begun);
        }
        if (!sum(Files.newInputStream(file)).equals(sum)) {
            throw new IOException(file + " is not what was written; is the disk full?");
        }
        return file;
    }

    private Path ownFolder() throws IOException {
        Path folder = cache().resolve("wfstudio");
        Files.createDirectories(folder.getParent());
        boolean posix = folder.getFileSystem().supportedFileAttributeViews().contains("posix");
        try {
            if (posix) {
                Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            } else {
                Files.createDirectory(folder);
            }
        } catch (FileAlreadyExistsException there) {
            if (Files.isSymbolicLink(folder) || !Files.isDirectory(folder)) {
                throw new IOException(folder + " is no folder");
            }
        }
        if (posix) {
            Set<PosixFilePermission> may = Files.getPosixFilePermissions(folder);
            boolean foreign = may.contains(PosixFilePermission.GROUP_WRITE) || may.contains(PosixFilePermission.OTHERS_WRITE);
            String owner = Files.getOwner(folder).getName();
            if (foreign || !owner.equals(System.getProperty("user.name"))) {
                throw new IOException(folder + " belongs to " + owner + " and others may write to it (" + PosixFilePermissions.toString(may) + "); nothing is loaded from there");
            }
        }
        return folder;
    }

    private Path cache() {
        String home = environment.getOrDefault("HOME", System.getProperty("user.home"));
        if (platform.startsWith("windows")) {
            return Path.of(environment.getOrDefault("LOCALAPPDATA", home));
        }
        if (platform.startsWith("macos")) {
            return Path.of(home, "Library", "Caches");
        }
        String cache = environment.get("XDG_CACHE_HOME");
        return cache == null || !Path.of(cache).isAbsolute() ? Path.of(home, ".cache") : Path.of(cache);
    }

    private String file() {
        return platform.startsWith("windows") ? "wfstudio.dll" : platform.startsWith("macos") ? "libwfstudio.dylib" : "libwfstudio.so";
    }

    private UnsupportedPlatformException refused() {
        return new UnsupportedPlatformException("Workflow Studio has no library for " + platform + " here:\n  " + String.join("\n  ", tried)
            + "\nAdd io.wfstudio:wfstudio-native:" + packaged + ":" + platform.replace("-gnu", "") + " to the class path, or set " + VARIABLE + " to the absolute path of the library.");
    }

    private static String sum(InputStream from) throws IOException {
        try (DigestInputStream in = new DigestInputStream(from, MessageDigest.getInstance("SHA-256"))) {
            in.transferTo(java.io.OutputStream.nullOutputStream());
            return HexFormat.of().formatHex(in.getMessageDigest().digest());
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static Door open(String library) {
        if (Runtime.version().feature() >= 22) {
            try {
                return (Door) Class.forName("wfstudio.FfmDoor").getDeclaredConstructor(String.class).newInstance(library);
            } catch (ClassNotFoundException jnaAlone) {
                LOG.log(System.Logger.Level.DEBUG, "this jar was built without the foreign function interface");
            } catch (java.lang.reflect.InvocationTargetException failure) {
                if (failure.getCause() instanceof Error error) {
                    throw error;
                }
                throw new IllegalArgumentException(failure.getCause().getMessage(), failure.getCause());
            } catch (ReflectiveOperationException impossible) {
                throw new IllegalStateException(impossible);
            }
        }
        return new JnaDoor(library);
    }

    /** The files that this process has loaded, where the system tells. */
    static List<String> mappedFiles() {
        Path maps = Path.of("/proc/self/maps");
        if (!Files.isReadable(maps)) {
            return List.of();
        }
        try {
            return Files.readAllLines(maps, java.nio.charset.StandardCharsets.ISO_8859_1).stream().filter(line -> line.indexOf('/') > 0).map(line -> line.substring(line.indexOf('/'))).distinct().toList();
        } catch (IOException unreadable) {
            return List.of();
        }
    }

    /** Which library this process can load; which C library it runs on is told by the loader that it was started with. */
    static String platform(List<String> mapped) {
        String os = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String arch = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        arch = arch.equals("amd64") ? "x86_64" : arch.equals("arm64") ? "aarch64" : arch;
        if (os.startsWith("windows")) {
            return "windows-" + arch;
        }
        if (os.startsWith("mac")) {
            return "macos-" + arch;
        }
        boolean musl = mapped.stream().anyMatch(file -> file.matches(".*/(ld-musl-[^/]*|libc\\.musl-[^/]*)"));
        return os + "-" + arch + (musl ? "-musl" : "-gnu");
    }

    static String version() {
        try (InputStream in = Loader.class.getResourceAsStream("/wfstudio/version")) {
            return new String(in.readAllBytes(), java.nio.charset.StandardCharsets.UTF_8).strip();
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }
}
