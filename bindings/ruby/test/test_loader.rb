# Owns the table of the loader: each place, each misfit, one error that lists what was tried.

require_relative "helper"

class TestLoader < Minitest::Test
  def setup
    @folder = Dir.mktmpdir
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  # A library of these versions.
  def library(name, abi: (1 << 16) | 1, version: "0.1.0")
    path = "#{@folder}/#{name}"
    FileUtils.mkdir_p(File.dirname(path))
    source = "unsigned studio_abi_version(void) { return #{abi}; } const char *studio_version(void) { return \"#{version}\"; }"
    Open3.capture2e("cc", "-shared", "-fPIC", "-x", "c", "-o", path, "-", stdin_data: source).then { |out, status| assert status.success?, out }
    path
  end

  def loader(named: nil, folder: "#{@folder}/bundled", system: "libnosuch.so.1", target: "x86_64-linux-gnu")
    WfStudio::Loader.new(environment: named ? { "WFSTUDIO_LIBRARY" => named } : {}, folder: folder, system: system, target: target, version: "0.1.0", maps: "none")
  end

  def refused(loader)
    assert_raises(WfStudio::UnsupportedPlatform) { loader.find }.message
  end

  def test_the_environment_comes_first_and_has_no_fallback
    bundled = library("bundled/x86_64-linux-gnu/libwfstudio.so")
    named = library("named.so")
    assert_equal named, loader(named: named).find
    assert_match(/none\.so/, refused(loader(named: "#{@folder}/none.so")))
    assert_match(/not an absolute path/, refused(loader(named: "named.so")))
    assert_equal bundled, loader.find
  end

  def test_the_system_comes_last
    system = library("system.so")
    assert_equal system, loader(system: system).find
  end

  def test_a_wrong_interface_is_an_error
    { (2 << 16) => "2.0", (1 << 16) => "1.0" }.each do |abi, told|
      assert_match(/functions #{told}/, refused(loader(named: library("wrong-#{told}.so", abi: abi))))
    end
    assert_equal library("later.so", abi: (1 << 16) | 9), loader(named: "#{@folder}/later.so").find
  end

  def test_a_wrong_version_is_an_error_inside_the_gem_and_a_warning_elsewhere
    library("bundled/x86_64-linux-gnu/libwfstudio.so", version: "0.0.9")
    assert_match(/version 0.0.9, this gem is 0.1.0/, refused(loader))
    system = library("old.so", version: "0.0.9")
    assert_output(nil, /version 0.0.9/) { assert_equal system, loader(folder: "#{@folder}/none", system: system).find }
  end

  def test_musl_does_not_get_the_library_for_glibc
    library("bundled/x86_64-linux-gnu/libwfstudio.so")
    told = refused(loader(target: "x86_64-linux-musl"))
    assert_match(/x86_64-linux-musl/, told)
    assert_match(%r{bundled/x86_64-linux-musl/libwfstudio.so: there is no such file}, told)
    assert_match(/libnosuch\.so\.1/, told)
    assert_match(/gem install wfstudio --platform x86_64-linux-musl/, told)
    assert_match(/\A\w+-linux-(gnu|musl)\z/, WfStudio::Loader.target)
  end

  def test_a_second_copy_is_refused_by_both_names
    first, second = library("a/libwfstudio.so"), library("b/libwfstudio.so")
    text = "f = WfStudio::Loader.new(environment: { 'WFSTUDIO_LIBRARY' => ARGV[0] }); f.find; " \
           "begin; WfStudio::Loader.new(environment: { 'WFSTUDIO_LIBRARY' => ARGV[1] }).find; rescue WfStudio::UnsupportedPlatform => e; puts e.message; end"
    output, status = Open3.capture2e(RbConfig.ruby, "-I", File.expand_path("../lib", __dir__), "-rwfstudio", "-e", text, first, second)
    assert status.success?, output
    assert_includes output, first
    assert_includes output, second
  end
end
