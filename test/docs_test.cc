// Documentation and examples against the messages they speak of.
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "proto/job.pb.h"
#include "worker/job_check.h"
#include "worker/job_file.h"

namespace lockstep {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// Every field of `message` and of the messages in it must be named in `text`, in code quotes.
void ExpectFieldsNamed(const google::protobuf::Descriptor* message, const std::string& text,
                       std::set<std::string>* seen) {
  if (!seen->insert(message->full_name()).second) return;
  for (int i = 0; i < message->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = message->field(i);
    const bool named = text.find("`" + field->name()) != std::string::npos ||
                       text.find(field->name() + " {") != std::string::npos ||
                       text.find(field->name() + ":") != std::string::npos;
    EXPECT_TRUE(named) << message->full_name() << "." << field->name() << " is not in docs/job.md";
    if (field->message_type() != nullptr) ExpectFieldsNamed(field->message_type(), text, seen);
  }
}

TEST(DocsTest, EveryFieldOfTheSpecificationIsDocumented) {
  std::set<std::string> seen;
  ExpectFieldsNamed(v1::JobSpec::descriptor(), Read("docs/job.md"), &seen);
  EXPECT_GT(seen.size(), 30);
}

TEST(DocsTest, TheExamplesAreValidJobs) {
  for (const std::string name : {"toy", "fashion_mnist_mlp"}) {
    const std::string path = "examples/" + name + ".textproto";
    ASSERT_OK_AND_ASSIGN(const v1::JobSpec spec, ParseJob(Read(path), path));
    EXPECT_OK(CheckJob(spec)) << path;
    EXPECT_EQ(spec.on_failure(), v1::JobSpec::WAIT) << path;
  }
}

}  // namespace
}  // namespace lockstep
