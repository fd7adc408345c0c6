# fish completion for leafctl: 'leafctl complete' says what may stand at the cursor.

# The word at the cursor as the program would get it.
function __leafctl_typed
    set -l word (commandline -ct)
    if string match -qr '^["\']' -- $word
        string sub -s 2 -- $word
    else
        string unescape -- $word; or echo -- $word
    end
end

function __leafctl_complete
    set -l words (commandline -opc)
    set -l typed "$(__leafctl_typed)"
    for line in ($words[1] complete -- $words[2..] $typed 2>/dev/null)
        set -l parts (string split -m 1 \t -- $line)
        if test -n "$parts[1]"
            echo $line
        else
            set -l begun (string sub -s (math (string length -- "$parts[2]") + 1) -- $typed)
            for file in (__fish_complete_path "$begun")
                echo $parts[2]$file
            end
        end
    end
end

complete -c leafctl -fk -a '(__leafctl_complete)'
