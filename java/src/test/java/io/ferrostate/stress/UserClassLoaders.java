package io.ferrostate.stress;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;

/** Which class loaders user code was loaded by; known to the parent class loader alone. */
public final class UserClassLoaders {

    private static final Set<ClassLoader> KNOWN =
            Collections.newSetFromMap(Collections.synchronizedMap(new WeakHashMap<>()));
    private static final List<WeakReference<ClassLoader>> SEEN = new ArrayList<>();

    private UserClassLoaders() {}

    public static synchronized void add(ClassLoader loader) {
        if (KNOWN.add(loader)) {
            SEEN.add(new WeakReference<>(loader));
        }
    }

    static synchronized int seen() {
        return SEEN.size();
    }

    static synchronized boolean sawOwn() {
        return SEEN.stream()
                .anyMatch(loader -> loader.get() == UserClassLoaders.class.getClassLoader());
    }

    static synchronized long alive() {
        return SEEN.stream().filter(loader -> loader.get() != null).count();
    }
}
