"""C++ code from .proto files with the system's protoc and gRPC plugin."""

def proto_cc_library(name, src, deps = [], grpc = False, visibility = None):
    """Generates and compiles the messages (and services) of one .proto file.

    Args:
      name: of the cc_library.
      src: the .proto file, in this package.
      deps: proto_cc_library targets of the .proto files that src imports.
      grpc: whether src defines services.
      visibility: of the cc_library.
    """
    stem = native.package_name() + "/" + src[:-len(".proto")]
    base = src[:-len(".proto")]
    outs = [base + ".pb.h", base + ".pb.cc"]
    command = "protoc -I. --cpp_out=$(GENDIR)"
    if grpc:
        outs += [base + ".grpc.pb.h", base + ".grpc.pb.cc"]
        command += " --grpc_out=$(GENDIR) --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin"
    native.filegroup(
        name = name + "_proto",
        srcs = [src] + [dep + "_proto" for dep in deps],
    )
    native.genrule(
        name = name + "_generated",
        srcs = [name + "_proto"],
        outs = outs,
        cmd = command + " " + stem + ".proto",
    )
    native.cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        # Generated code is not ours to mend.
        copts = ["-w"],
        deps = deps + ["@system//:protobuf"] + (["@system//:grpc"] if grpc else []),
        visibility = visibility,
    )
