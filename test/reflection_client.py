#!/usr/bin/python3
"""Submits a job and follows it to its end, knowing nothing of lockstep but what server reflection tells.

usage: reflection_client.py HOST:PORT JOB.textproto

Prints the job's states and the final parameter hash. Exit code 0: the job succeeded.
"""
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

TIMEOUT_SECONDS = 60
REFLECTION = "grpc.reflection.v1alpha"
STRING, BYTES, MESSAGE = (
    descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
    descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE,
)


def add_message(file, name, *fields):
    """Each field: (name, number, type, is_repeated, name of its message)."""
    message = file.message_type.add(name=name)
    for field_name, number, kind, is_repeated, type_name in fields:
        field = message.field.add(name=field_name, number=number, type=kind, label=3 if is_repeated else 1)
        if type_name:
            field.type_name = f".{REFLECTION}.{type_name}"


def reflection_file():
    """The part of grpc/reflection/v1alpha/reflection.proto that is used here; Debian does not package it."""
    file = descriptor_pb2.FileDescriptorProto(name="reflection.proto", package=REFLECTION, syntax="proto3")
    add_message(file, "Request", ("file_by_filename", 3, STRING, False, None),
                ("file_containing_symbol", 4, STRING, False, None), ("list_services", 7, STRING, False, None))
    add_message(file, "Files", ("file_descriptor_proto", 1, BYTES, True, None))
    add_message(file, "Service", ("name", 1, STRING, False, None))
    add_message(file, "Services", ("service", 1, MESSAGE, True, "Service"))
    add_message(file, "Response", ("file_descriptor_response", 4, MESSAGE, False, "Files"),
                ("list_services_response", 6, MESSAGE, False, "Services"))
    return file


class Reflection:
    """What a server says about itself."""

    def __init__(self, channel):
        self.pool = descriptor_pool.DescriptorPool()
        self.pool.Add(reflection_file())
        self.request_class = self.message_class(f"{REFLECTION}.Request")
        response_class = self.message_class(f"{REFLECTION}.Response")
        self.call = channel.stream_stream(
            f"/{REFLECTION}.ServerReflection/ServerReflectionInfo",
            request_serializer=self.request_class.SerializeToString,
            response_deserializer=response_class.FromString)
        self.known = set()

    def message_class(self, name):
        descriptor = self.pool.FindMessageTypeByName(name)
        return message_factory.MessageFactory(self.pool).GetPrototype(descriptor)

    def ask(self, **question):
        responses = self.call(iter([self.request_class(**question)]), timeout=TIMEOUT_SECONDS)
        return next(iter(responses))

    def services(self):
        return {service.name for service in self.ask(list_services="*").list_services_response.service}

    def load(self, **question):
        """Takes the files of an answer into the pool, after those that they import."""
        for data in self.ask(**question).file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(data)
            if file.name in self.known:
                continue
            self.known.add(file.name)
            for dependency in file.dependency:
                if dependency not in self.known:
                    self.load(file_by_filename=dependency)
            self.pool.Add(file)


def check_health(channel):
    """Both messages of grpc.health.v1 have one field: an empty name asks about the whole server."""
    check = channel.unary_unary("/grpc.health.v1.Health/Check")
    serving = b"\x08\x01"
    answer = check(b"", timeout=TIMEOUT_SECONDS)
    assert answer == serving, answer


def follow(channel, reflection, spec_text):
    service = reflection.pool.FindServiceByName("lockstep.v1.Trainer")

    def method(name, factory):
        descriptor = service.methods_by_name[name]
        request = reflection.message_class(descriptor.input_type.full_name)
        response = reflection.message_class(descriptor.output_type.full_name)
        return request, factory(f"/{service.full_name}/{name}",
                                request_serializer=request.SerializeToString,
                                response_deserializer=response.FromString)

    submit_request, submit = method("Submit", channel.unary_unary)
    watch_request, watch = method("Watch", channel.unary_stream)
    request = submit_request()
    text_format.Parse(spec_text, request.spec, descriptor_pool=reflection.pool)
    job_id = submit(request, timeout=TIMEOUT_SECONDS).job_id
    states = reflection.pool.FindEnumTypeByName("lockstep.v1.JobState").values_by_number
    last = None
    for event in watch(watch_request(job_id=job_id), timeout=TIMEOUT_SECONDS):
        if event.HasField("state"):
            last = states[event.state.state].name
            print("state", last, event.state.error)
        if event.HasField("summary"):
            print("parameter_hash", event.summary.parameter_hash)
    return last


def main():
    address, job_file = sys.argv[1:]
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        reflection = Reflection(channel)
        services = reflection.services()
        for name in ("lockstep.v1.Trainer", "lockstep.v1.Membership", "lockstep.v1.Collective"):
            assert name in services, services
        reflection.load(file_containing_symbol="lockstep.v1.Trainer")
        check_health(channel)
        with open(job_file, encoding="utf-8") as file:
            state = follow(channel, reflection, file.read())
    return 0 if state == "SUCCEEDED" else 1


if __name__ == "__main__":
    sys.exit(main())
