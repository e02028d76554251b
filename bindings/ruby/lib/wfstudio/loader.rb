# Owns where the library is found: named by WFSTUDIO_LIBRARY, inside this gem, or installed in the system; and whether it fits.

require "ffi"

module WfStudio
  # Finds one library. Every source can be given, so that each rule can be tested.
  class Loader
    HERE = File.expand_path("native", __dir__)
    NAMES = { "darwin" => "libwfstudio.1.dylib", "mingw" => "wfstudio.dll" }.freeze

    def initialize(environment: ENV, folder: HERE, system: nil, target: Loader.target, version: VERSION, maps: "/proc/self/maps")
      @environment, @folder, @target, @version, @maps = environment, folder, target, version, maps
      @system = system || NAMES.fetch(target[/darwin|mingw/], "libwfstudio.so.1")
      @tried = []
    end

    # The path or name to open, after it was opened and looked at.
    def find
      named = @environment["WFSTUDIO_LIBRARY"]
      return required(named) unless named.nil? || named.empty?

      found = bundled || installed
      return found if found

      raise refusal
    end

    # `x86_64-linux-gnu`; the libc is the one that this process runs on, as its own symbols say.
    def self.target
      cpu, system = RbConfig::CONFIG["host_cpu"], RbConfig::CONFIG["host_os"]
      cpu = { "x64" => "x86_64", "amd64" => "x86_64", "arm64" => "aarch64" }.fetch(cpu, cpu)
      return "#{cpu}-#{system[/darwin|mingw/] || system}" unless system.include?("linux")

      glibc = FFI::DynamicLibrary.open(nil, FFI::DynamicLibrary::RTLD_LAZY).find_function("gnu_get_libc_version")
      "#{cpu}-linux-#{glibc ? "gnu" : "musl"}"
    end

    # Files of this library that the process has mapped.
    def self.mapped(maps)
      return [] unless File.readable?(maps)

      File.foreach(maps).filter_map { |line| line.split(" ", 6)[5]&.strip }.grep(%r{/(lib)?wfstudio[^/]*\.(so|dylib|dll)}).uniq
    end

    private

    def required(path)
      unless File.absolute_path?(path)
        @tried << "WFSTUDIO_LIBRARY=#{path}: it is not an absolute path"
        raise refusal
      end
      raise refusal unless opens?(path, "WFSTUDIO_LIBRARY=")

      fit(path)
      path
    end

    def bundled
      ending = { "darwin" => "libwfstudio.dylib", "mingw" => "wfstudio.dll" }.fetch(@target[/darwin|mingw/], "libwfstudio.so")
      path = File.join(@folder, @target, ending)
      unless File.file?(path)
        @tried << "#{path}: there is no such file, the gem of another platform was installed"
        return
      end
      return unless opens?(path)

      fit(path)
      loaded = version_of(path)
      return path if loaded == @version

      raise UnsupportedPlatform, "#{path} is version #{loaded}, this gem is #{@version}: run `gem pristine wfstudio`"
    end

    def installed
      return unless opens?(@system)

      fit(@system)
      loaded = version_of(@system)
      warn "wfstudio: the library of the system is version #{loaded}, this gem is #{@version}" unless loaded == @version
      @system
    end

    def opens?(path, prefix = "")
      only_copy(path)
      library(path)
      true
    rescue LoadError => e
      @tried << "#{prefix}#{path}: #{e.message.lines.first.strip}"
      false
    end

    # A second copy would drop the locks that the first holds on its database.
    def only_copy(path)
      real = File.exist?(path) ? File.realpath(path) : nil
      other = Loader.mapped(@maps).find { |file| real && file != real }
      raise UnsupportedPlatform, "#{other} is loaded into this process already, #{real} would be a second copy: use one of them" if other
    end

    def fit(path)
      number = library(path).find_function("studio_abi_version")
      found = number ? FFI::Function.new(:uint32, [], number).call : 0
      major, minor = found >> 16, found & 0xFFFF
      return if major == Native::ABI[0] && minor >= Native::ABI[1]

      raise UnsupportedPlatform, "#{path} has the functions #{major}.#{minor}, this gem needs #{Native::ABI.join(".")} or a later #{Native::ABI[0]}"
    end

    def version_of(path)
      FFI::Function.new(:string, [], library(path).find_function("studio_version")).call
    end

    def library(path)
      FFI::DynamicLibrary.open(path, FFI::DynamicLibrary::RTLD_NOW | FFI::DynamicLibrary::RTLD_LOCAL)
    end

    def refusal
      places = @tried.map { |place| "  #{place}" }.join("\n")
      UnsupportedPlatform.new("the library of wfstudio cannot be loaded on #{@target}:\n#{places}\n" \
                              "Run `gem install wfstudio --platform #{@target}`, or set WFSTUDIO_LIBRARY to the path of libwfstudio.")
    end
  end
end
