#include "worker/job_check.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/job_file.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::JobSpec Valid() {
  return *ParseJob(R"(
      model { input { shape: 4 } layers { dense { units: 3 } } }
      compile { loss { sparse_categorical_crossentropy { from_logits: true } } metrics: "accuracy" }
      data { train { synthetic { rows: 10 feature_shape: 4 classes: 3 } } }
      fit { epochs: 1 batch_size: 2 seed: 1 }
      checkpoint { directory: "out" })",
                   "test");
}

void ExpectRefused(const v1::JobSpec& spec, const std::string& field) {
  EXPECT_THAT(CheckJob(spec), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(field)));
}

TEST(JobCheckTest, AValidJobPassesWithoutWarnings) {
  EXPECT_OK(CheckJob(Valid()));
  EXPECT_THAT(JobWarnings(Valid()), IsEmpty());
}

TEST(JobCheckTest, MissingPartsAreNamed) {
  v1::JobSpec spec = Valid();
  spec.clear_model();
  ExpectRefused(spec, "model is required");
  spec = Valid();
  spec.clear_compile();
  ExpectRefused(spec, "compile is required");
  spec = Valid();
  spec.clear_data();
  ExpectRefused(spec, "data is required");
  spec = Valid();
  spec.clear_fit();
  ExpectRefused(spec, "fit is required");
}

TEST(JobCheckTest, AMistakeInALayerIsNamedByItsPath) {
  v1::JobSpec spec = Valid();
  spec.mutable_model()->mutable_layers(0)->mutable_dense()->set_units(0);
  ExpectRefused(spec, "model.layers[0]");
}

TEST(JobCheckTest, AMistakeInCompileIsNamedByItsPath) {
  v1::JobSpec spec = Valid();
  spec.mutable_compile()->mutable_optimizer()->mutable_adam()->set_beta_1(1.5);
  ExpectRefused(spec, "compile.optimizer.adam.beta_1 is 1.5");
  spec = Valid();
  spec.mutable_compile()->mutable_optimizer()->set_clipnorm(-1);
  ExpectRefused(spec, "compile.optimizer.clipnorm is -1");
  spec = Valid();
  spec.mutable_compile()->add_metrics("acuracy");
  ExpectRefused(spec, "compile.metrics: unknown metric");
  spec = Valid();
  spec.mutable_compile()->mutable_loss()->mutable_huber()->set_delta(-1);
  ExpectRefused(spec, "compile.loss.huber.delta is -1");
}

TEST(JobCheckTest, AMistakeInADatasetIsNamedBeforeAFileIsOpened) {
  v1::JobSpec spec = Valid();
  spec.mutable_data()->mutable_train()->mutable_synthetic()->set_classes(1);
  ExpectRefused(spec, "data.train.synthetic.classes 1");
  spec.mutable_data()->mutable_train()->clear_source();
  ExpectRefused(spec, "data.train has no source");
  spec = Valid();
  spec.mutable_data()->mutable_validation()->mutable_csv()->set_label("y");
  ExpectRefused(spec, "data.validation.csv.paths is required");
}

TEST(JobCheckTest, FilesThatADatasetNeedsAreNamed) {
  v1::JobSpec spec = Valid();
  spec.mutable_data()->mutable_train()->mutable_npy()->set_features("x.npy");
  ExpectRefused(spec, "data.train.npy.labels is required");
  spec.mutable_data()->mutable_train()->mutable_npz();
  ExpectRefused(spec, "data.train.npz.path is required");
  spec.mutable_data()->mutable_train()->mutable_idx()->set_images("x");
  ExpectRefused(spec, "data.train.idx.labels is required");
}

TEST(JobCheckTest, ExactlyOneBatchSizeMustBeGiven) {
  v1::JobSpec spec = Valid();
  spec.mutable_fit()->set_batch_size(0);
  ExpectRefused(spec, "fit.batch_size");
  spec.mutable_fit()->set_batch_size(2);
  spec.mutable_fit()->set_per_worker_batch_size(2);
  ExpectRefused(spec, "fit.batch_size");
}

TEST(JobCheckTest, NumbersOutOfRangeAreNamedWithTheirValues) {
  v1::JobSpec spec = Valid();
  spec.mutable_fit()->set_epochs(0);
  ExpectRefused(spec, "fit.epochs is 0, must be between 1");
  spec = Valid();
  spec.mutable_checkpoint()->set_keep(0);
  ExpectRefused(spec, "checkpoint.keep is 0");
  spec = Valid();
  spec.mutable_communication_options()->set_implementation(v1::CommunicationOptions::RING);
  spec.mutable_communication_options()->set_compression(v1::CommunicationOptions::BF16);
  ExpectRefused(spec, "communication_options.compression BF16 does not go with implementation RING");
  spec.mutable_communication_options()->Clear();
  spec.mutable_communication_options()->set_connections(17);
  ExpectRefused(spec, "communication_options.connections is 17, must be between 0 and 16");
  spec.mutable_communication_options()->Clear();
  spec.mutable_communication_options()->set_bytes_per_pack(-1);
  ExpectRefused(spec, "communication_options.bytes_per_pack is -1");
  spec = Valid();
  spec.mutable_data()->set_validation_split(1);
  ExpectRefused(spec, "data.validation_split is 1");
}

TEST(JobCheckTest, ValidationCannotComeFromTwoPlaces) {
  v1::JobSpec spec = Valid();
  *spec.mutable_data()->mutable_validation() = spec.data().train();
  spec.mutable_data()->set_validation_split(0.5);
  ExpectRefused(spec, "data.validation_split and data.validation");
}

TEST(JobCheckTest, EvaluateAndPredictNeedACheckpointAndAnOutput) {
  v1::JobSpec spec = Valid();
  spec.set_task(v1::JobSpec::EVALUATE);
  spec.clear_fit();
  EXPECT_OK(CheckJob(spec));
  spec.clear_checkpoint();
  ExpectRefused(spec, "checkpoint.directory is required");
  spec = Valid();
  spec.set_task(v1::JobSpec::PREDICT);
  ExpectRefused(spec, "predict.output is required");
}

TEST(JobCheckTest, A32SoftmaxInFrontOfLogitsIsRefused) {
  v1::JobSpec spec = Valid();
  spec.mutable_model()->mutable_layers(0)->mutable_dense()->set_activation(v1::SOFTMAX);
  ExpectRefused(spec, "from_logits");
}

TEST(JobCheckTest, A32SoftmaxIsSeenThroughLayersThatOnlyHandValuesOn) {
  for (const char* between : {"reshape { shape: 3 }", "flatten {}", "dropout { rate: 0.5 }",
                              "activation { function: LINEAR }", "activation { function: RELU }",
                              "activation { function: LEAKY_RELU }", "activation { function: ELU }"}) {
    for (const char* softmax :
         {"dense { units: 3 activation: SOFTMAX }", "activation { function: SIGMOID }"}) {
      v1::JobSpec spec = Valid();
      for (const char* layer : {softmax, between, between})
        *spec.mutable_model()->add_layers() =
            ParseJob(absl::StrCat("model { layers { ", layer, " } }"), "test")->model().layers(0);
      ExpectRefused(spec, "from_logits");
    }
  }
  v1::JobSpec spec = Valid();
  spec.mutable_model()->mutable_layers(0)->mutable_dense()->set_activation(v1::SOFTMAX);
  spec.mutable_model()->add_layers()->mutable_dense()->set_units(3);
  EXPECT_OK(CheckJob(spec));
  // Changes a probability, so nothing is applied twice.
  spec = Valid();
  spec.mutable_model()->mutable_layers(0)->mutable_dense()->set_activation(v1::SOFTMAX);
  spec.mutable_model()->add_layers()->mutable_activation()->set_function(v1::TANH);
  EXPECT_OK(CheckJob(spec));
}

TEST(JobCheckTest, AHugeModelIsCheckedWithoutTakingItsMemory) {
  v1::JobSpec spec = Valid();
  spec.mutable_model()->mutable_layers(0)->mutable_dense()->set_units(int64_t{1} << 29);
  EXPECT_OK(CheckJob(spec));
  spec.mutable_model()->mutable_layers(0)->mutable_dense()->set_units(int64_t{1} << 62);
  ExpectRefused(spec, "model.layers[0]");
}

TEST(JobCheckTest, NumbersThatAreNotFiniteAreRefusedWhereverTheyStand) {
  v1::JobSpec spec = Valid();
  spec.mutable_compile()->mutable_optimizer()->mutable_sgd()->mutable_learning_rate()->set_constant(NAN);
  ExpectRefused(spec, "compile.optimizer.sgd.learning_rate.constant is nan");
  spec = Valid();
  spec.mutable_data()->mutable_train()->mutable_npy()->set_scale(INFINITY);
  ExpectRefused(spec, "data.train.npy.scale is inf");
}

TEST(JobCheckTest, EnumerationsOutOfTheirValuesAreRefusedWithTheChoices) {
  v1::JobSpec spec = Valid();
  spec.mutable_data()->mutable_train()->set_shard(static_cast<v1::Dataset::Shard>(9));
  ExpectRefused(spec, "data.train.shard is 9, choose one of AUTO, DATA, FILE, OFF");
  spec = Valid();
  spec.set_on_failure(static_cast<v1::JobSpec::OnFailure>(99));
  ExpectRefused(spec, "on_failure is 99");
  spec = Valid();
  spec.mutable_checkpoint()->set_directory("saved");
  spec.mutable_checkpoint()->set_on_error(v1::Checkpoint::WARN);
  EXPECT_OK(CheckJob(spec));
  spec.mutable_checkpoint()->set_on_error(static_cast<v1::Checkpoint::OnError>(3));
  ExpectRefused(spec, "checkpoint.on_error is 3, choose one of FAIL, WARN");
}

TEST(JobCheckTest, WaitsForRanksAreFinite) {
  for (const double seconds : {-1.0, 1e9, static_cast<double>(NAN)}) {
    v1::JobSpec spec = Valid();
    spec.set_rejoin_timeout_seconds(seconds);
    ExpectRefused(spec, "rejoin_timeout_seconds is ");
  }
  v1::JobSpec spec = Valid();
  spec.set_min_workers(-1);
  ExpectRefused(spec, "min_workers is -1");
  spec = Valid();
  spec.set_on_failure(v1::JobSpec::CONTINUE);
  ExpectRefused(spec, "on_failure is CONTINUE");
  spec.set_on_failure(v1::JobSpec::WAIT);
  spec.set_rejoin_timeout_seconds(30);
  EXPECT_OK(CheckJob(spec));
}

TEST(JobCheckTest, TextsThatWouldBreakATerminalAreRefused) {
  v1::JobSpec spec = Valid();
  spec.set_name("\x1b[2Jgone");
  ExpectRefused(spec, "name is \"\\x1b[2Jgone\", which has control characters");
  spec.set_name("\xff\xfe");
  ExpectRefused(spec, "not UTF-8");
}

TEST(JobCheckTest, AMonitorThatIsNoMetricIsRefused) {
  v1::JobSpec spec = Valid();
  spec.mutable_fit()->mutable_early_stopping();  // val_loss, but there is no validation
  ExpectRefused(spec, "val_loss");
  spec.mutable_data()->set_validation_split(0.5);
  EXPECT_OK(CheckJob(spec));
}

TEST(JobCheckTest, APathThatLeavesEveryRootIsRefused) {
  v1::JobSpec spec = Valid();
  spec.mutable_checkpoint()->set_directory("a/../../b");
  ExpectRefused(spec, "checkpoint.directory");
  spec.mutable_checkpoint()->set_directory("a/../b");
  EXPECT_OK(CheckJob(spec));
  for (const char* root : {"/", ".", "a/.."}) {
    spec.mutable_checkpoint()->set_directory(root);
    ExpectRefused(spec, "checkpoint.directory");
  }
  spec = Valid();
  for (const char* output : {".", "new/"}) {
    spec.mutable_predict()->set_output(output);
    ExpectRefused(spec, "predict.output");
  }
  spec = Valid();
  spec.set_initial_weights("../x.safetensors");
  ExpectRefused(spec, "initial_weights");
}

TEST(JobCheckTest, CountsBeyondReasonAreRefused) {
  v1::JobSpec spec = Valid();
  spec.mutable_threading()->set_intra_op_threads(100000);
  ExpectRefused(spec, "threading.intra_op_threads is 100000, must be between 0 and 1024");
  spec = Valid();
  spec.mutable_fit()->set_epochs(std::numeric_limits<int64_t>::max());
  ExpectRefused(spec, "fit.epochs");
}

TEST(JobCheckTest, WhatIsProbablyNotMeantIsAWarning) {
  v1::JobSpec spec = Valid();
  spec.mutable_fit()->clear_seed();
  spec.clear_checkpoint();
  EXPECT_THAT(JobWarnings(spec), ElementsAre(HasSubstr("fit.seed"), HasSubstr("checkpoint")));
}

TEST(JobCheckTest, ATopKThatEveryRowPassesIsAWarning) {
  v1::JobSpec spec = Valid();
  spec.mutable_compile()->add_metrics("sparse_top_k_categorical_accuracy");
  EXPECT_THAT(JobWarnings(spec), ElementsAre(AllOf(HasSubstr("compile.top_k is 5 (the default)"),
                                                   HasSubstr("3 classes"), HasSubstr("always 1"))));
  spec.mutable_compile()->set_top_k(3);
  EXPECT_THAT(JobWarnings(spec), ElementsAre(HasSubstr("compile.top_k is 3 and")));
  spec.mutable_compile()->set_top_k(2);
  EXPECT_THAT(JobWarnings(spec), IsEmpty());
}

TEST(JobCheckTest, FieldsOfABiasThatIsNotThereAreRefused) {
  v1::JobSpec spec = Valid();
  v1::Dense* dense = spec.mutable_model()->mutable_layers(0)->mutable_dense();
  dense->set_use_bias(false);
  EXPECT_OK(CheckJob(spec));
  dense->mutable_bias_initializer()->mutable_ones();
  ExpectRefused(spec, "bias_initializer is set, but use_bias is false");
  dense->mutable_bias_regularizer()->set_l2(0.1f);
  ExpectRefused(spec, "bias_regularizer is set, but use_bias is false");
}

TEST(JobCheckTest, AColumnIsNamedOnceAndIsNotTheLabelToo) {
  v1::JobSpec spec = Valid();
  v1::Csv* csv = spec.mutable_data()->mutable_train()->mutable_csv();
  csv->add_paths("t.csv");
  csv->set_label("y");
  for (const char* name : {"a", "b", "a"}) csv->add_features(name);
  ExpectRefused(spec, "data.train.csv.features has \"a\" twice");
  csv->set_features(2, "y");
  ExpectRefused(spec, "data.train.csv.features has the label \"y\"");
}

TEST(JobFileTest, TextAndJsonGiveTheSameJob) {
  const auto text = ParseJob(R"(name: "a" fit { epochs: 3 } on_failure: FAIL)", "test");
  const auto json = ParseJob(R"( {"name": "a", "fit": {"epochs": 3}, "on_failure": "FAIL"})", "test");
  ASSERT_OK(text);
  ASSERT_OK(json);
  EXPECT_EQ(text->SerializeAsString(), json->SerializeAsString());
}

TEST(JobFileTest, AMistakeIsNamedWithFileLineAndColumn) {
  EXPECT_THAT(ParseJob("name: \"a\"\nfit { epoch: 3 }", "job.textproto"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("job.textproto: line 2 column"), HasSubstr("epoch"))));
  EXPECT_THAT(ParseJob("{\"nome\": 1}", "job.json"),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("job.json"), HasSubstr("nome"))));
}

TEST(JobFileTest, AByteOrderMarkIsPassedOver) {
  EXPECT_OK(ParseJob("\xEF\xBB\xBFname: \"a\"", "test"));
  EXPECT_OK(ParseJob("\xEF\xBB\xBF{\"name\": \"a\"}", "test"));
}

TEST(JobFileTest, AnErrorIsOneShortLineHoweverLongTheFilesWords) {
  const absl::Status error = ParseJob(std::string(1000000, 'x'), "test").status();
  EXPECT_LT(error.message().size(), 400);
  EXPECT_EQ(error.message().find('\n'), absl::string_view::npos);
}

TEST(JobFileTest, AMissingFileIsNotFound) {
  EXPECT_THAT(ReadJobFile("/nonexistent/job.textproto"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nonexistent/job.textproto")));
}

}  // namespace
}  // namespace lockstep
