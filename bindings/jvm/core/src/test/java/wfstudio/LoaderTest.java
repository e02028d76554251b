// Owns the table of where the library is found and what is refused.

package wfstudio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoaderTest {
    private static final String GNU = "linux-x86_64-gnu";

    @TempDir
    Path folder;
    private final Map<String, String> environment = new HashMap<>();
    private final Map<String, String> broken = new HashMap<>();
    private final List<String> opened = new ArrayList<>();
    private final List<String> mapped = new ArrayList<>();
    private String platform = GNU;
    private int abi = Abi.VERSION;
    private String version = "0.1.0";
    private Path jar;

    @BeforeEach
    void setUp() throws IOException {
        jar = Files.createDirectories(folder.resolve("jar"));
        environment.put("HOME", folder.toString());
        broken.put("libwfstudio.so.1", "libwfstudio.so.1: cannot open shared object file");
    }

    private Door load() throws IOException {
        try (URLClassLoader resources = new URLClassLoader(new URL[] {jar.toUri().toURL()}, null)) {
            return new Loader(environment, resources, this::open, mapped, platform, "0.1.0").load();
        }
    }

    private Door open(String library) {
        opened.add(library);
        if (broken.containsKey(library)) {
            throw new UnsatisfiedLinkError(broken.get(library));
        }
        return (Door) Proxy.newProxyInstance(Door.class.getClassLoader(), new Class<?>[] {Door.class}, (self, method, given) -> method.getName().equals("abiVersion") ? abi : version);
    }

    private String refused() {
        return assertThrows(UnsupportedPlatformException.class, this::load).getMessage();
    }

    private Path named() throws IOException {
        Path library = Files.writeString(folder.resolve("named.so"), "named");
        environment.put(Loader.VARIABLE, library.toString());
        return library;
    }

    private Path bundle(String platform, String content) throws IOException {
        Path library = jar.resolve("wfstudio/native/" + platform + "/libwfstudio.so");
        Files.createDirectories(library.getParent());
        return Files.writeString(library, content);
    }

    @Test
    void theVariableComesFirst() throws IOException {
        bundle(GNU, "bundled");
        Path library = named();
        load();
        assertEquals(List.of(library.toString()), opened);
    }

    @Test
    void aVariableThatDoesNotLoadIsAnErrorWithoutFallback() throws IOException {
        bundle(GNU, "bundled");
        broken.put(named().toString(), "invalid ELF header");
        assertTrue(refused().contains("named.so: invalid ELF header"));
        environment.put(Loader.VARIABLE, "libwfstudio.so");
        assertTrue(refused().contains("is no absolute path"));
        environment.put(Loader.VARIABLE, "/nowhere/libwfstudio.so");
        assertTrue(refused().contains("there is no such file"));
        assertEquals(1, opened.size());
    }

    @Test
    void theBundledOneIsExtractedForTheUserAloneAndCheckedEachTime() throws IOException {
        bundle(GNU, "bundled");
        load();
        Path extracted = Path.of(opened.get(0));
        assertTrue(extracted.getFileName().toString().matches("libwfstudio-[0-9a-f]{64}\\.so"), extracted.toString());
        assertEquals(folder.resolve(".cache/wfstudio"), extracted.getParent());
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(extracted.getParent())));
        Files.writeString(extracted, "changed by somebody");
        load();
        assertEquals("bundled", Files.readString(extracted));
        try (var files = Files.list(extracted.getParent())) {
            assertEquals(1, files.count());
        }
    }

    @Test
    void aFolderThatOthersMayWriteToIsNotUsed() throws IOException {
        bundle(GNU, "bundled");
        Path cache = Files.createDirectories(folder.resolve(".cache/wfstudio"));
        Files.setPosixFilePermissions(cache, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertTrue(refused().contains("others may write to it"));
        Files.delete(cache);
        Files.createSymbolicLink(cache, Files.createDirectory(folder.resolve("elsewhere")));
        assertTrue(refused().contains("is no folder"));
    }

    @Test
    void theOtherCLibraryIsNotTaken() throws IOException {
        bundle(GNU, "bundled");
        platform = "linux-x86_64-musl";
        String said = refused();
        assertTrue(said.contains("no library for linux-x86_64-musl") && said.contains("there is no wfstudio/native/linux-x86_64-musl/libwfstudio.so"), said);
        assertEquals("linux-x86_64-musl", Loader.platform(List.of("/lib/ld-musl-x86_64.so.1")).replaceAll("x86_64|aarch64", "x86_64"));
        assertTrue(Loader.platform(List.of("/usr/lib/x86_64-linux-gnu/libc.so.6")).endsWith("-gnu"));
    }

    @Test
    void thatOfTheSystemIsLast() throws IOException {
        broken.clear();
        assertSame(Door.class, load().getClass().getInterfaces()[0]);
        assertEquals(List.of("libwfstudio.so.1"), opened);
    }

    @Test
    void withoutAnyTheOneErrorTellsAllPlacesAndWhatToDo() throws IOException {
        broken.put(bundledPath(), "failed to map segment from shared object");
        String said = refused();
        for (String part : List.of("no library for " + GNU, "bundled", "noexec", "cannot open shared object file", "io.wfstudio:wfstudio-native:0.1.0:linux-x86_64", Loader.VARIABLE)) {
            assertTrue(said.contains(part), said);
        }
    }

    private String bundledPath() throws IOException {
        bundle(GNU, "bundled");
        load();
        String path = opened.get(0);
        opened.clear();
        return path;
    }

    @Test
    void functionsOfAnotherVersionAreRefused() throws IOException {
        named();
        for (int wrong : new int[] {2 << 16, 1 << 16, 0}) {
            abi = wrong;
            assertTrue(refused().contains("has functions of version"));
        }
        abi = Abi.VERSION + 1;
        load();
    }

    @Test
    void aBundledLibraryIsOfTheSameVersion() throws IOException {
        version = "0.0.9";
        bundle(GNU, "bundled");
        assertTrue(refused().contains("is version 0.0.9, this package is 0.1.0"));
        named();
        load();
    }

    @Test
    void aSecondCopyInTheProcessIsRefused() throws IOException {
        Path library = named();
        mapped.add("/opt/other/libwfstudio.so.1");
        String said = refused();
        assertTrue(said.contains("/opt/other/libwfstudio.so.1") && said.contains(library.toString()), said);
        assertEquals(List.of(), opened);
        mapped.set(0, library.toString());
        load();
    }
}
