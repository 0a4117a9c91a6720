"""Binds libraries that Debian packages install under /usr as cc_library targets.

Link flags are asked of pkg-config, so that they follow the installed version; headers are on the
compiler's default path. Use as @system//:NAME.
"""

_TARGET = """cc_library(
    name = "{name}",
    copts = {cflags},
    linkopts = {libs},
    visibility = ["//visibility:public"],
)
"""

def _unique(words):
    seen = {}
    for word in words:
        seen[word] = True
    return seen.keys()

def _ask(repository_ctx, option, modules):
    result = repository_ctx.execute(["pkg-config", option] + modules)
    if result.return_code:
        fail("pkg-config {} {}: {} (tools/install_packages.sh installs what is missing)".format(
            option,
            " ".join(modules),
            result.stderr,
        ))
    return _unique([word for word in result.stdout.replace("\n", " ").split(" ") if word])

def _system_libraries_impl(repository_ctx):
    targets = []
    for name, modules in repository_ctx.attr.modules.items():
        targets.append(_TARGET.format(
            name = name,
            cflags = repr(_ask(repository_ctx, "--cflags-only-other", modules)),
            libs = repr(_ask(repository_ctx, "--libs", modules)),
        ))
    for name, libs in repository_ctx.attr.plain.items():
        targets.append(_TARGET.format(name = name, cflags = "[]", libs = repr(libs)))
    repository_ctx.file("BUILD.bazel", "\n".join(targets))

system_libraries = repository_rule(
    implementation = _system_libraries_impl,
    attrs = {
        "modules": attr.string_list_dict(doc = "target name -> pkg-config modules"),
        "plain": attr.string_list_dict(doc = "target name -> link flags, for libraries without .pc file"),
    },
    local = True,
    doc = "One cc_library per entry, for libraries that the system's package manager installed.",
)
