// Owns the one native library of the process and its end: a hook closes all engines while there are any.

package wfstudio;

/** The library, loaded once. */
final class Native {
    private static final int LEAVE_MS = 5_000;

    private static Door door;
    private static int engines;
    private static Thread hook;

    private Native() {}

    static synchronized Door door() {
        if (door == null) {
            door = Loader.ordinary().load();
        }
        return door;
    }

    /** An engine was opened: the end of the process closes it. The hook is only there while it is needed, so that a container may let the classes go. */
    static synchronized void opened() {
        engines++;
        if (hook == null) {
            Thread leaving = new Thread(() -> door.shutdown(LEAVE_MS), "wfstudio-exit");
            try {
                Runtime.getRuntime().addShutdownHook(leaving);
                hook = leaving;
            } catch (IllegalStateException leavingAlready) {
                // Opened while the process ends: no hook is taken any more.
            }
        }
    }

    static synchronized void closed() {
        if (--engines == 0 && hook != null) {
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
                hook = null;
            } catch (IllegalStateException leaving) {
                // Closed while the process ends: the hook runs all the same.
            }
        }
    }
}
