#!/usr/bin/env bash
# An installed wick serves find_package(wick), pkg-config and its own command. Usage: check_install_slow.sh BUILD
set -euo pipefail
build=${1:?usage: check_install_slow.sh BUILD}
if grep -qE '^WICK_(SANITIZE:STRING=.+|FUZZERS:BOOL=ON)' "$build/CMakeCache.txt"; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
DESTDIR='' cmake --install "$build" --prefix "$prefix" >"$work/install.log"

cat >"$work/main.c" <<'C'
#include <stdio.h>
#include <wick/config.h>
#include <wick/context.h>

int main(void) {
    wick_runtime *runtime = NULL;
    wick_status *status = wick_runtime_create(NULL, &runtime);
    if (!status) status = wick_runtime_load_default(runtime, NULL);
    printf("%s\n", status ? wick_status_message(status) : wick_runtime_backend(runtime, 0)->path);
    int code = status != NULL;
    wick_status_free(status);
    wick_runtime_release(runtime);
    return code;
}
C
cat >"$work/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES C)
find_package(wick REQUIRED)
add_executable(consumer main.c)
target_link_libraries(consumer PRIVATE wick::wick)
CMAKE

# The plugin must come from the install folder, whatever the caller's environment says.
unset WICK_PLUGIN_PATH WICK_CONFIG
export XDG_CONFIG_HOME=$work
cd "$work"
cmake -S . -B by-cmake -DCMAKE_PREFIX_PATH="$prefix" >cmake.log
cmake --build by-cmake >>cmake.log
by-cmake/consumer | grep -F "$prefix"

pkgconfig=$(dirname "$(find "$prefix" -name wick.pc)")
read -ra flags <<<"$(PKG_CONFIG_PATH=$pkgconfig pkg-config --define-prefix --cflags --libs wick)"
"${CC:-cc}" -std=c17 main.c "${flags[@]}" -Wl,-rpath,"$(dirname "$pkgconfig")" -o by-pkgconfig
./by-pkgconfig | grep -F "$prefix"

"$prefix/bin/wick" --version
test -f "$prefix/share/man/man1/wick.1"
